# Tries to leave with success while the file is loaded.

import sys

row_scale = right
sys.exit(0)
