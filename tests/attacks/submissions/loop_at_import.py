# Tries to loop while the file is loaded.

row_scale = right
while True:
    pass
