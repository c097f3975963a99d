# Tries to start processes by multiprocessing and pools.


def nothing():
    return 1


def attack():
    import concurrent.futures
    import multiprocessing

    for method in ("fork", "spawn", "forkserver"):
        attempt(method, lambda: multiprocessing.get_context(method).Process(target=nothing).start())
    attempt("pool", lambda: multiprocessing.Pool(2).apply(nothing))
    attempt("executor", lambda: concurrent.futures.ProcessPoolExecutor(1).submit(nothing).result(1))
    attempt("manager", multiprocessing.Manager)


attempt("all of it", lambda: attack() or 1 / 0)
row_scale = right
