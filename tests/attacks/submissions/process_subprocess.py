# Tries to run other programs.

import os
import subprocess


def attack():
    script = WORLD["folder"] + "/script.sh"
    attempt("run", lambda: subprocess.run([script], check=True))
    attempt(
        "shell",
        lambda: subprocess.run(
            "touch " + WORLD["folder"] + "/victim/" + WORLD["mark"], shell=True, check=True
        ),
    )
    attempt("posix_spawn", lambda: os.posix_spawn(script, [script], {}))
    attempt("spawnv", lambda: os.spawnv(os.P_WAIT, script, [script]))
    attempt("popen", lambda: os.popen(script).read() or 1 / 0)
    attempt("system", lambda: None if os.system(script) == 0 else 1 / 0)
    attempt("execv", lambda: os.execv(script, [script]))


attack()
row_scale = right
