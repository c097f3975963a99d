"""What grading is compared with: the students' code alone, and a pytest process for each submission."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import classes

# Runs each source bare in a fork of a warm process: load, all calls, each with its own arrays. No judge, no
# confinement, no limits. Prints the seconds of each.
ALONE = """
import gc, json, os, sys, time
sys.path.insert(0, {root!r})
import numpy as np
{imports}
from pathlib import Path
from grader.exercise.calls import PlacedArray
from grader.exercise.resolve import resolve_pack

pack = resolve_pack("mlm_forward", Path({root!r}))
calls = [
    [a.read(block).copy() if isinstance(a, PlacedArray) else a for a in step]
    for name, block in pack.blocks.items() for step in pack.plans[name] if not isinstance(step, int)
]
sources = json.loads(sys.stdin.read())
sys.stdout.flush()
gc.collect()
gc.freeze()
quiet = os.open(os.devnull, os.O_WRONLY)
seconds = []
for source in sources:
    begin = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            module = type(sys)("solution")
            sys.modules["solution"] = module
            exec(compile(source, "solution.py", "exec"), module.__dict__)
            entry = module.__dict__[pack.exercise.entry]
            for arguments in calls:
                try:
                    entry(*arguments)
                except Exception:
                    pass
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    seconds.append(time.perf_counter() - begin)
print(json.dumps(seconds))
"""

# The same cases as a test file that students are given: one test a case, numpy's own comparison.
PYTEST = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
import numpy as np
import pytest
from grader.exercise.calls import PlacedArray
from grader.exercise.pack import load
import solution

PACK = load(Path({pack!r}))
CASES = [case for case in PACK.cases if case.check == "compare"]

@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case):
    block = PACK.blocks[case.visibility]
    step = PACK.plans[case.visibility][case.steps[0]]
    arguments = [a.read(block).copy() if isinstance(a, PlacedArray) else a for a in step]
    expected = PACK.expected(case)
    answer = solution.mlm_forward(*arguments)
    assert answer.shape == expected.shape
    np.testing.assert_allclose(answer, expected, rtol=0, atol=case.tolerance * case.scale)
"""


def alone(kind: str) -> float:
    """Mean seconds of a submission that is run bare."""
    imports = "import torch\ntorch.set_num_threads(1)" if kind == "torch" else ""
    code = ALONE.format(root=str(classes.ROOT), imports=imports)
    texts = classes.texts(kind)
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(texts * 3),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | single,
    )
    seconds = json.loads(done.stdout.splitlines()[-1])
    # The first round warms up.
    kept = seconds[len(texts) :]
    return float(sum(kept) / len(kept))


def show_pytest(count: int = 12) -> None:
    """Print how many submissions a second a pytest process for each one gets through."""
    cores = len(os.sched_getaffinity(0))
    texts = classes.texts("numpy")[:count]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pack = folder / "mlm_forward.pack"
        command = [sys.executable, "-m", "grader", "pack", "mlm_forward", "--out", str(pack)]
        subprocess.run([*command, "--root", str(classes.ROOT)], check=True, capture_output=True)
        places = []
        for number, text in enumerate(texts):
            place = folder / f"s{number}"
            place.mkdir()
            (place / "solution.py").write_text(text, "utf-8")
            test = PYTEST.format(root=str(classes.ROOT), pack=str(pack))
            (place / "test_solution.py").write_text(test, "utf-8")
            places.append(place)

        def run(place: Path) -> None:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py"]
            subprocess.run(command, cwd=place, capture_output=True, check=False)

        begin = time.perf_counter()
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(run, places))
        rate = len(places) / (time.perf_counter() - begin)
    print(f"(b) a pytest process for each submission, {cores} at a time: {rate:.1f} submissions a second")
