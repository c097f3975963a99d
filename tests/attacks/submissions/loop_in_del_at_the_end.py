# Tries to keep an object whose __del__ loops until the process ends.


class Hanging:
    def __del__(self):
        while True:
            pass


kept = Hanging()
row_scale = right
