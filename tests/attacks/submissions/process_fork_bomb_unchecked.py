# Tries to fork without end, and without a look at what comes of it.

import os

row_scale = right
for n in range(8):
    if os.fork() == 0:
        os._exit(0)
print("ESCAPED: a process was made")
