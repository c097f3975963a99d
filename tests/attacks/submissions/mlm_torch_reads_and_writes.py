# Tries to solve it with torch, and try what torch can do to files, processes and the network.

import datetime

attempts = 0


def attack():
    import torch

    target = WORLD["folder"] + "/victim/" + WORLD["mark"]
    attempt("save", lambda: torch.save(torch.ones(3), target))
    attempt("load", lambda: torch.load(WORLD["folder"] + "/secret.txt"))
    attempt("from_file", lambda: torch.from_file(target, shared=True, size=10))
    attempt("share_memory", lambda: torch.ones(3).share_memory_())
    attempt("spawn", lambda: torch.multiprocessing.spawn(print, nprocs=1))
    attempt("loader", lambda: list(torch.utils.data.DataLoader([1, 2], num_workers=1)))
    attempt("hub", lambda: torch.hub.download_url_to_file(f"http://127.0.0.1:{WORLD['tcp']}/", target))
    attempt(
        "inline", lambda: __import__("torch.utils.cpp_extension").utils.cpp_extension.load_inline("x", "")
    )
    attempt("library", lambda: torch.ops.load_library(WORLD["folder"] + "/script.sh"))
    attempt("trace", lambda: torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), target))
    attempt("profile", lambda: torch.profiler.profile().export_chrome_trace(target))
    second = datetime.timedelta(seconds=1)
    attempt("store", lambda: torch.distributed.TCPStore("127.0.0.1", WORLD["tcp"], 1, False, second))


def mlm_forward(*arguments):
    global attempts
    attempts += 1
    if attempts == 5:
        attack()
    return solution(*arguments)
