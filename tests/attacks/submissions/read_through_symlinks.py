# Tries to read through links that lie where others can see them.

import os


def attack():
    attempt("link", lambda: open(WORLD["folder"] + "/link.txt").read())
    attempt("link to a folder", lambda: open(WORLD["folder"] + "/link_to_folder/notes.txt").read())
    attempt("dots", lambda: open(WORLD["numpy"] + "/../" * 20 + WORLD["folder"] + "/secret.txt").read())
    attempt(
        "dots",
        lambda: open(
            WORLD["library"] + "/json/../../../../../../../../.." + WORLD["folder"] + "/secret.txt"
        ).read(),
    )
    attempt(
        "make",
        lambda: os.symlink(WORLD["folder"] + "/secret.txt", WORLD["folder"] + "/victim/" + WORLD["mark"]),
    )
    attempt(
        "hard link",
        lambda: os.link(WORLD["folder"] + "/secret.txt", WORLD["folder"] + "/victim/" + WORLD["mark"]),
    )


attack()
row_scale = right
