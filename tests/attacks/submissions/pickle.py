# Tries to return a pickle, and an object, that do something when they are unpickled.

import pickle


class Bomb:
    def __reduce__(self):
        return (open, (WORLD["folder"] + "/victim/" + WORLD["mark"], "w"))


calls = 0


def row_scale(x, w, factor):
    global calls
    calls += 1
    return [pickle.dumps(Bomb()), Bomb(), [Bomb()], {"answer": Bomb()}][calls % 4]
