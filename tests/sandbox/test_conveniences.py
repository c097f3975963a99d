"""What an ordinary program finds in an interpreter is there in a confined child too, and opens no door."""

from __future__ import annotations

import pytest
from sandbox_runs import only_step, run

from grader.sandbox.packages import installed
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

WORKS = {
    "muted": "with open(os.devnull, 'w') as f, contextlib.redirect_stdout(f): print('unheard')",
    "muted_by_io": "with io.open(os.devnull, mode='a', encoding='utf-8') as f: f.write('unheard')",
    "muted_bytes": "with open('/dev/null', 'wb', buffering=0) as f: f.write(b'unheard')",
    "muted_by_a_path": "with pathlib.Path(os.devnull).open('w') as f: f.write('unheard')",
    "nothing_to_read": "assert open(os.devnull).read() == '' and open('/dev/null', 'rb').read() == b''",
    "numbers_of_streams": "assert (sys.stdout.fileno(), sys.stderr.fileno()) == (1, 2)",
    "no_terminal": "assert not sys.stdout.isatty()",
    "fault_handler": "faulthandler.enable()",
    "locale": "locale.setlocale(locale.LC_ALL, '')",
    "help": "assert callable(help)",
    "open_is_open": "assert open.__name__ == 'open' and open is io.open and 'file' in open.__doc__",
    "what_numpy_has": "numpy.show_config()",
}
REFUSED = {
    "other_files": "open('/tmp/zq7', 'w')",
    "other_names_of_it": "open('/dev/../dev/null', 'w')",
    "texts_that_equal_all": "open(type('P', (str,), {'__eq__': lambda s, o: True})('/tmp/zq7'), 'w')",
    "below_python": "os.open(os.devnull, os.O_WRONLY)",
}
BEGIN = "import contextlib, faulthandler, io, locale, os, pathlib, sys\nimport numpy\ndef f(x):\n    "


@pytest.mark.parametrize("name", WORKS)
def test_it_works(server: ForkServer, name: str) -> None:
    outcome = only_step(run(server, f"{BEGIN}{WORKS[name]}\n    return x\n"))
    assert outcome.state == "returned", outcome
    assert "unheard" not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(server: ForkServer, name: str) -> None:
    outcome = only_step(run(server, f"{BEGIN}{REFUSED[name]}\n    return x\n"))
    assert outcome.state == "raised" and outcome.failure is not None
    assert outcome.failure.type == "PermissionError"


@pytest.mark.parametrize("name", ["exit", "quit"])
def test_leaving_is_an_exception(server: ForkServer, name: str) -> None:
    outcome = only_step(run(server, f"def f(x):\n    {name}(3)\n"))
    assert outcome.failure is not None and outcome.failure.type == "SystemExit"


@pytest.mark.skipif(not installed("torch"), reason="torch is not installed")
def test_what_torch_loads_late_can_be_loaded() -> None:
    server = ForkServer("torch")
    try:
        server.configure(["numpy", "torch"], {"rules": []})
        source = """
        import torch
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(8)
        def f(x):
            weight = torch.nn.Parameter(torch.ones(2))
            torch.optim.Adam([weight])
            a = torch.ones(600, 600)
            assert (a @ a)[0, 0] == 600 and torch.get_num_threads() == 1
            return x
        """
        patient = Limits(seconds_per_call=20.0, seconds=60.0, memory=1 << 30, output=4 << 10)
        result = run(server, source, limits=patient)
        assert only_step(result).state == "returned", result
    finally:
        server.close()
