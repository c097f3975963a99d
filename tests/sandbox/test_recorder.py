"""Banned plain functions are found while they run, and watching them changes nothing about them."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from recorder_runs import ROOT, helpers, record, recorder, rules, signs

scipy = pytest.importorskip("scipy")

CYTHON = "scipy.special.cython_special"
X = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, 0.25]])


def special(name: str) -> Any:
    recorder()
    return getattr(importlib.import_module("scipy.special"), name)


def banned() -> list[str]:
    """The banned functions in all modules of scipy that are loaded with these two packages.

    Patterns also match everything in scipy.special._logsumexp, which is private and holds more than helpers.
    """
    importlib.import_module("scipy.special")
    importlib.import_module("scipy.stats")
    recorder()
    found = []
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == "scipy" and module is not None and rules().banned(f"{name}.x") is None:
            for key, value in vars(module).items():
                full = f"{name}.{key}"
                if rules().banned(full) is not None and callable(value) and not isinstance(value, type):
                    found.append(full)
    return found


@pytest.mark.parametrize("name", banned())
def test_a_banned_function_is_found_under_every_name(name: str) -> None:
    module, _, last = name.rpartition(".")
    function = getattr(sys.modules[module], last)
    arguments = [np.abs(X) + 1] * (2 if last == "zmap" else 1)
    record(lambda: function(*arguments) if module != CYTHON else function(0.5))
    (found,) = recorder().findings()
    rule = rules().banned(name)
    assert rule is not None
    assert found["rule"] == rule.id
    assert found["line"] == test_a_banned_function_is_found_under_every_name.__code__.co_firstlineno + 5
    assert rule.advice in found["message"]


def test_the_public_name_is_told() -> None:
    inner = importlib.import_module("scipy.special._logsumexp").softmax
    record(lambda: inner(X))
    assert helpers() == [("softmax", "scipy.special.softmax")]


def test_a_module_that_is_imported_within_the_call_is_watched() -> None:
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "from recorder_runs import *\n"
        "import scipy.special\n"
        "recorder()\n"
        "assert 'scipy.stats' not in sys.modules\n"
        "def call():\n"
        "    import scipy.stats as s, scipy.stats.mstats as m\n"
        "    s.zscore([1., 2.])\n"
        "    m.zmap([1., 2.], [1., 2.])\n"
        "record(call, '<string>')\n"
        "assert scipy.stats.__spec__.loader is scipy.stats.__loader__\n"
        "assert 'recorder' not in type(scipy.stats.__loader__).__module__\n"
        "print(helpers(), signs())\n"
    )
    folder = str(ROOT / "tests" / "sandbox")
    done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == (
        "[('normalization', 'scipy.stats.zscore'), ('normalization', 'scipy.stats.zmap')] []"
    )


# --- hidden ways --------------------------------------------------------------------------------

HIDDEN: dict[str, Callable[[], Any]] = {
    "map": lambda: list(map(special("softmax"), X)),
    "partial": lambda: functools.partial(special("softmax"), axis=-1)(X),
    "vectorized": lambda: np.apply_along_axis(special("softmax"), -1, X),
    "unpickled": lambda: pickle.loads(b"cscipy.special\nsoftmax\n.")(X),
    "computed_import": lambda: vars(__import__("scipy." + "laiceps"[::-1], fromlist=["x"]))["soft" + "max"](
        X
    ),
    "text": lambda: eval("__import__('scipy.special').special.softmax")(X),
    "callback_of_its_own_library": lambda: importlib.import_module("scipy.optimize").approx_fprime(
        X[0], special("logsumexp")
    ),
}


@pytest.mark.parametrize("call", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_function_is_found_at_its_line(call: Callable[[], Any]) -> None:
    record(call)
    assert {rule for rule, _ in helpers()} == {"softmax"}
    assert all(found["line"] == call.__code__.co_firstlineno for found in recorder().findings()[:1])


def test_a_file_that_is_not_on_the_stack_has_no_line() -> None:
    record(lambda: special("softmax")(X), "other.py")
    (found,) = recorder().findings()
    assert found["line"] == 0
    assert found["message"].startswith("While it ran, scipy.special.softmax")


def test_each_helper_is_told_once_a_line_and_not_without_end() -> None:
    softmax = special("softmax")
    record(lambda: [softmax(X) for _ in range(3)])
    assert len(recorder().findings()) == 1
    source = "\n".join("softmax(X)" for _ in range(80))
    record(lambda: exec(compile(source, "lines.py", "exec"), {"softmax": softmax, "X": X}), "lines.py")
    assert [found["line"] for found in recorder().findings()] == list(range(1, 51))


# --- what is allowed ----------------------------------------------------------------------------


def kde() -> Any:
    return importlib.import_module("scipy.stats").gaussian_kde(X[0]).logpdf(X[0])


HONEST: dict[str, Callable[[], Any]] = {
    "expit": lambda: special("expit")(X),
    "erf": lambda: special("erf")(X) + special("ndtr")(X) + special("log_ndtr")(X),
    "norm": lambda: importlib.import_module("scipy.linalg").norm(X),
    "uses_logsumexp_inside": kde,
    "distributions": lambda: importlib.import_module("scipy.stats").norm.logpdf(X),
    "dirichlet": lambda: importlib.import_module("scipy.stats").dirichlet.entropy([1.0, 2.0]),
    "numpy": lambda: np.exp(X) / np.exp(X).sum(-1, keepdims=True) + np.logaddexp(X, X),
}


@pytest.mark.parametrize("call", HONEST.values(), ids=HONEST)
def test_what_a_library_uses_inside_is_not_reported(call: Callable[[], Any]) -> None:
    expected = call()
    assert np.array_equal(record(call), expected)
    assert helpers() == []
    assert signs() == []


def test_outside_of_a_recorded_call_nothing_is_noted() -> None:
    record(lambda: None)
    special("softmax")(X)
    assert helpers() == []


# --- a watched function is as it was ------------------------------------------------------------


def test_a_watched_function_is_like_itself() -> None:
    softmax = special("softmax")
    assert inspect.isfunction(softmax)
    assert str(inspect.signature(softmax)) == "(x, axis=None)"
    assert softmax.__name__ == softmax.__qualname__ == "softmax"
    assert softmax.__module__ == "scipy.special._logsumexp"
    assert "softmax" in (softmax.__doc__ or "").lower()
    assert not hasattr(softmax, "__wrapped__")
    assert pickle.loads(pickle.dumps(softmax)) is softmax
    assert copy.deepcopy(softmax) is softmax
    assert {softmax: 1}[softmax] == 1
    assert np.allclose(softmax(X, axis=1).sum(1), 1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        softmax(X, axes=1)


def test_a_watched_ufunc_is_like_itself() -> None:
    log_expit = special("log_expit")
    assert isinstance(log_expit, np.ufunc)
    assert (log_expit.nin, log_expit.nout, log_expit.__name__) == (1, 1, "log_expit")
    assert repr(log_expit) == "<ufunc 'log_expit'>"
    assert pickle.loads(pickle.dumps(log_expit)) is log_expit
    assert copy.deepcopy(log_expit) is log_expit
    out, other = np.full_like(X, 7.0), np.full_like(X, 7.0)
    # Not with `where`: scipy's own loop goes wrong there, and may write where it should not.
    assert log_expit(X, out=out) is out
    log_expit.__recorded__(X, out=other)
    assert out.tobytes() == other.tobytes()
    assert log_expit(X, dtype=np.float32).dtype == np.float32
    assert np.array_equal(np.vectorize(log_expit)(X), log_expit(X))
    with pytest.raises(ValueError, match="reduce only supported for binary functions"):
        log_expit.reduce(X)
    record(lambda: log_expit(X))
    assert helpers() == [("activation", "scipy.special.log_expit")]


# --- interference -------------------------------------------------------------------------------


def test_putting_another_function_in_place_is_a_sign_of_tampering(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("scipy.special")
    recorder()

    def replaces() -> None:
        monkeypatch.setattr(module, "softmax", abs)

    record(replaces)
    assert signs() == ["wrapper"]
    monkeypatch.undo()
    record(lambda: None)
    assert signs() == []


def test_taking_the_finder_away_is_a_sign_of_tampering(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder()
    record(lambda: monkeypatch.setattr(sys, "meta_path", []))
    assert signs() == ["wrapper"]


def test_turning_it_off_is_a_sign_of_tampering() -> None:
    record(lambda: setattr(recorder()._findings, "active", False))
    assert signs() == ["recorder"]


def test_a_fault_of_the_recorder_does_not_reach_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    softmax = special("softmax")
    expected = softmax(X)

    def broken(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(recorder()._findings, "place", broken)
    assert np.array_equal(record(lambda: softmax(X)), expected)
    assert recorder().failed == "wrapper: KeyError"


def test_exceptions_of_the_call_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 / 0)
    with pytest.raises(KeyboardInterrupt):
        record(functools.partial(exec, "raise KeyboardInterrupt"))
