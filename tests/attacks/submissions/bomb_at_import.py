# Tries to use up memory while the file is loaded.

row_scale = right
kept = []
while True:
    kept.append(np.ones(1 << 18))
