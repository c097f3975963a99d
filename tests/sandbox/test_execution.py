"""Every way in which a submission can end gives an outcome, and costs no more than what it broke."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from sandbox_runs import IMPATIENT, JUDGE, LIMITS, REREAD, Meddled, X, only_step, phase, run, said

from grader.exercise.calls import ArrayArgument, PhaseBuilder, read_plan
from grader.outcomes import ArrayValue, Container, PlainValue
from grader.sandbox import execution as execution_module
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

# --- loading ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "type_", "line"),
    [
        ("x = 1\nimport no_such_module_anywhere\n", "ModuleNotFoundError", 2),
        ("from math import no_such_name\n", "ImportError", 1),
        ("import pandas\n", "ModuleNotFoundError", 1),
        ("\n\n1 / 0\n", "ZeroDivisionError", 3),
        ("import sys\nsys.exit(0)\n", "SystemExit", 2),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1),
        ("def g(): g()\ng()\n", "RecursionError", 1),
    ],
)
def test_an_exception_at_import_is_told_with_its_line(
    server: ForkServer, source: str, type_: str, line: int
) -> None:
    load = run(server, source).load
    assert load is not None and load.state == "raised" and load.failure is not None
    assert load.failure.type == type_
    assert load.failure.frames[-1][0] == line


def test_a_package_that_the_exercise_does_not_allow_is_refused_in_words(server: ForkServer) -> None:
    load = run(server, "import yaml\n").load
    assert load is not None and load.failure is not None
    assert "yaml may not be used" in load.failure.message and "numpy" in load.failure.message


def test_a_syntax_error_is_found_before_anything_runs(server: ForkServer) -> None:
    result = run(server, "print('ran')\ndef f(x:\n")
    assert result.load is not None and result.load.state == "raised" and result.load.stdout == ""
    assert result.load.failure is not None and result.load.failure.line == 2


def test_the_policy_report_is_passed_on_as_it_is(server: ForkServer) -> None:
    report = {"violations": [], "suspicious": [{"rule": "unusual"}]}
    assert run(server, "def f(x): return x\n", report=report).report is report
    assert run(server, "def f(x): return x\n").report is None


def test_a_missing_entry_point_comes_back_with_the_names_there_are(server: ForkServer) -> None:
    load = run(server, "def forward(x): return x\nWIDTH = 3\nglobals()[7] = 8\n").load
    assert load is not None and load.state == "returned"
    assert not load.found and not load.callable and load.names == ("forward", "WIDTH")


@pytest.mark.parametrize(
    ("source", "type_"), [("f = 3", "int"), ("import numpy as np\nf = np.ones(2)", "ndarray")]
)
def test_an_entry_point_that_is_no_function_is_named_by_its_type(
    server: ForkServer, source: str, type_: str
) -> None:
    load = run(server, source).load
    assert load is not None and load.found and not load.callable and load.type == type_


CALLABLES = {
    "lambda": "f = lambda x: x + 1",
    "instance": "class A:\n    def __call__(self, x): return x + 1\nf = A()",
    "method": "class A:\n    def g(self, *rest): return rest[0] + 1\nf = A().g",
    "redefined": "def f(x): raise ValueError\ndef f(renamed): return renamed + 1",
    "partial": "from functools import partial\nf = partial(lambda one, x: x + one, 1)",
    "dataclass": "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\n"
    "class A:\n    n: 'int' = 1\n    def __call__(self, x): return x + self.n\nf = A()",
    "main_guard": "if __name__ == '__main__':\n    raise SystemExit\n"
    "import sys\nassert sys.modules[__name__].__file__\ndef f(x): return x + 1",
}


@pytest.mark.parametrize("source", CALLABLES.values(), ids=CALLABLES)
def test_every_kind_of_callable_is_called(server: ForkServer, source: str) -> None:
    value = only_step(run(server, source)).value
    assert isinstance(value, ArrayValue)
    np.testing.assert_array_equal(value.array(), X + 1)


# --- answers ----------------------------------------------------------------------------------

ANSWERS = {
    "none": ("None", PlainValue("none")),
    "text": ("'a\\ud800b'", PlainValue("str", "a?b")),
    "long_text": ("'a' * 10**6", PlainValue("str", "a" * 2000)),
    "int": ("2**70", PlainValue("int", 2**70)),
    "huge_int": ("1 << 10**6", PlainValue("object", "int of more than 1024 bits")),
    "float": ("float('nan')", None),
    "complex": ("1j", PlainValue("complex", 1j)),
    "bool": ("True", PlainValue("bool", True)),
    "generator": ("(v for v in x)", PlainValue("object", "generator")),
    "function": ("f", PlainValue("object", "solution.function")),
    "set": ("{1}", PlainValue("object", "set")),
    "list": (
        "[1, [None]]",
        Container("list", (PlainValue("int", 1), Container("list", (PlainValue("none"),)))),
    ),
    "dict": ("{'a': 1}", Container("dict", ((PlainValue("str", "a"), PlainValue("int", 1)),))),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_plain_answers_come_back_as_they_are(server: ForkServer, name: str) -> None:
    text, expected = ANSWERS[name]
    outcome = only_step(run(server, f"def f(x): return {text}"))
    assert outcome.state == "returned"
    if name == "function":
        assert isinstance(outcome.value, PlainValue) and str(outcome.value.value).endswith("function")
    elif expected is None:
        assert isinstance(outcome.value, PlainValue) and outcome.value.value != outcome.value.value
    else:
        assert outcome.value == expected


ARRAYS = {
    "c": ("x * 2", "float64", (2, 3)),
    "fortran": ("np.asfortranarray(x * 2)", "float64", (2, 3)),
    "reversed": ("(x * 2)[::-1, ::-1][::-1, ::-1]", "float64", (2, 3)),
    "big_endian": ("(x * 2).astype('>f8')", "float64", (2, 3)),
    "float32": ("np.float32(x * 2)", "float32", (2, 3)),
    "float16": ("np.float16(x * 2)", "float16", (2, 3)),
    "int": ("(x * 2).astype(int)", "int64", (2, 3)),
    "complex": ("x * 2 + 0j", "complex128", (2, 3)),
    "matrix": ("np.matrix(x * 2)", "float64", (2, 3)),
    "masked": ("np.ma.masked_array(x * 2, mask=x > 1)", "float64", (2, 3)),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_with_dtype_shape_and_values(server: ForkServer, name: str) -> None:
    text, dtype, shape = ARRAYS[name]
    value = only_step(run(server, f"import numpy as np\ndef f(x): return {text}")).value
    assert isinstance(value, ArrayValue)
    assert (value.kind, value.dtype, value.shape) == ("array", dtype, shape)
    np.testing.assert_array_equal(value.array(), X * 2)


VALUELESS = {
    "object": ("np.array([None, 'a', x], dtype=object)", (3,)),
    "text": ("np.array(['a', 'b'])", (2,)),
    "structured": ("np.zeros(2, [('a', float), ('b', int)])", (2,)),
    "dates": ("np.zeros(2, 'datetime64[s]')", (2,)),
    "long_double": ("np.zeros(2, np.longdouble)", (2,)),
}


@pytest.mark.parametrize("name", VALUELESS)
def test_arrays_of_no_plain_number_come_back_without_values(server: ForkServer, name: str) -> None:
    text, shape = VALUELESS[name]
    value = only_step(run(server, f"import numpy as np\ndef f(x): return {text}")).value
    assert isinstance(value, ArrayValue) and value.shape == shape and value.data is None


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("np.broadcast_to(np.float64(1), 10**12)", (10**12,)),
        ("np.broadcast_to(np.float64(1), (10**6, 10**6))", (10**6, 10**6)),
        ("np.zeros((64, 1024))", (64, 1024)),
    ],
)
def test_an_answer_that_is_too_large_comes_back_as_its_shape_only(
    server: ForkServer, text: str, shape: tuple[int, ...]
) -> None:
    outcome = only_step(run(server, f"import numpy as np\ndef f(x): return {text}"))
    assert outcome.too_large and isinstance(outcome.value, ArrayValue)
    assert outcome.value.shape == shape and outcome.value.data is None


def test_an_empty_answer_of_astronomic_shape_is_harmless(server: ForkServer) -> None:
    outcome = only_step(run(server, "import numpy as np\ndef f(x): return np.empty((2**62, 0), bool)"))
    assert outcome.value == ArrayValue("array", "bool", (2**62, 0), b"")


def test_a_single_number_is_told_from_a_0d_array(server: ForkServer) -> None:
    calls = phase("public", (X, 0), (X, 1))
    source = "import numpy as np\ndef f(x, n): return np.array(x[0, 1]) if n else x[0, 1]"
    scalar, array = run(server, source, [calls]).steps["public"]
    assert isinstance(scalar.value, ArrayValue) and isinstance(array.value, ArrayValue)
    assert (scalar.value.kind, scalar.value.shape) == ("scalar", ())
    assert (array.value.kind, array.value.shape) == ("array", ())


@pytest.mark.parametrize(
    "text",
    [
        "[None] * 10**7",
        "[[0] * 1000] * 1000",
        "[x] * 5000",
        "dict.fromkeys(range(10**6))",
        "x.tolist() * 2000",
    ],
)
def test_a_container_that_is_too_large_is_still_named(server: ForkServer, text: str) -> None:
    outcome = only_step(run(server, f"def f(x): return {text}"))
    assert outcome.state == "returned"
    assert outcome.value == PlainValue("object", "dict" if text.startswith("dict") else "list")


def test_arrays_in_a_list_never_spill_into_the_next_answer(server: ForkServer) -> None:
    calls = phase("public", *[(X, n) for n in range(0, 400, 8)], answer_bytes=2048)
    source = "import numpy as np\ndef f(x, n): return [np.full(5, float(n))] * n"
    for n, outcome in zip(range(0, 400, 8), run(server, source, [calls]).steps["public"], strict=True):
        if isinstance(outcome.value, Container):
            assert len(outcome.value.items) == n
            for item in outcome.value.items:
                assert isinstance(item, ArrayValue)
                np.testing.assert_array_equal(item.array(), np.full(5, n))
        else:
            assert n > 20 and outcome.value == PlainValue("object", "list")


def test_a_list_that_holds_itself_ends(server: ForkServer) -> None:
    outcome = only_step(run(server, "def f(x):\n    a = []\n    a.append(a)\n    return a"))
    assert isinstance(outcome.value, Container) and outcome.state == "returned"


EVIL = """
import numpy as np
class Evil(np.ndarray):
    def __getattribute__(self, name): raise SystemExit(name)
    def __eq__(self, other): return True
    def __array__(self, *a, **k): raise SystemExit
    def __len__(self): raise SystemExit
    def __del__(self): raise SystemExit
    def tobytes(self, *a): return b"forged"
def f(x): return (x * 2).view(Evil)
"""


def test_methods_of_a_subclass_do_not_run_when_an_answer_is_read(server: ForkServer) -> None:
    value = only_step(run(server, EVIL)).value
    assert isinstance(value, ArrayValue) and value.kind == "array"
    np.testing.assert_array_equal(value.array(), X * 2)


def test_an_object_that_lies_about_its_class_is_an_object(server: ForkServer) -> None:
    source = """
    import numpy as np
    class Liar:
        @property
        def __class__(self): return np.ndarray
        def __array__(self, *a, **k): return np.zeros((2, 3))
    def f(x): return Liar()
    """
    assert only_step(run(server, source)).value == PlainValue("object", "solution.Liar")


DERIVED = """
import collections, enum
class Evil:
    def __init__(self, *a): pass
    def fails(self, *a, **k): raise SystemExit
    __iter__ = __len__ = __getitem__ = __str__ = __repr__ = __int__ = __index__ = __float__ = fails
    items = keys = values = copy = hex = encode = bit_length = fails
    __eq__ = lambda self, other: True
    __hash__ = lambda self: 1
class D(Evil, dict): pass
class L(Evil, list): pass
class T(Evil, tuple): pass
class S(Evil, str): pass
class I(Evil, int): pass
class F(Evil, float): pass
d, l = D(), L()
dict.update(d, {"a": 1}), list.extend(l, [1, 2])
more = collections.defaultdict(list)
more["a"].append(1)
"""
ONE, TWO, TEXT = PlainValue("int", 1), PlainValue("int", 2), PlainValue("str", "a")
HELD = {
    "defaultdict": ("more", Container("dict", ((TEXT, Container("list", (ONE,))),))),
    "ordered": ("collections.OrderedDict(a=1)", Container("dict", ((TEXT, ONE),))),
    "counter": ("collections.Counter('a')", Container("dict", ((TEXT, ONE),))),
    "dict": ("d", Container("dict", ((TEXT, ONE),))),
    "list": ("l", Container("list", (ONE, TWO))),
    "tuple": ("T((1, 2))", Container("tuple", (ONE, TWO))),
    "named_tuple": ("collections.namedtuple('P', 'x y')(1, 2)", Container("tuple", (ONE, TWO))),
    "str": ("S('a')", TEXT),
    "int": ("I(2)", TWO),
    "int_enum": ("enum.IntEnum('E', 'a b').b", TWO),
    "float": ("F(2.5)", PlainValue("float", 2.5)),
    "inside": ("[I(1), {S('a'): F(-0.0)}]", None),
    "huge": ("I(1 << 2000)", PlainValue("object", "int of more than 1024 bits")),
}


@pytest.mark.parametrize("name", HELD)
def test_what_derives_from_a_class_of_pythons_own_counts_by_what_it_holds(
    server: ForkServer, name: str
) -> None:
    made, expected = HELD[name]
    outcome = only_step(run(server, f"{DERIVED}\ndef f(x): return {made}\n"))
    assert outcome.state == "returned", outcome
    if expected is None:
        expected = Container("list", (ONE, Container("dict", ((TEXT, PlainValue("float", -0.0)),))))
    assert outcome.value == expected


def test_a_single_longdouble_is_a_number(server: ForkServer) -> None:
    value = only_step(run(server, "import numpy as np\ndef f(x): return np.longdouble(2.5)\n")).value
    assert value == ArrayValue("scalar", "float64", (), np.float64(2.5).tobytes())


def test_an_answer_of_a_derived_class_has_an_end(server: ForkServer) -> None:
    source = "class L(list): pass\nown = L([1])\nown.append(own)\ndef f(x): return own\n"
    assert only_step(run(server, source)).state == "returned"


# --- exceptions -------------------------------------------------------------------------------


def test_an_exception_comes_back_with_type_bases_text_and_the_students_lines(server: ForkServer) -> None:
    source = """\
    import numpy as np
    class Mine(ValueError): pass
    def g(x):
        raise Mine("seven is odd")
    def f(x):
        return np.vectorize(lambda v: g(v))(x)
    """
    failure = only_step(run(server, source)).failure
    assert failure is not None and failure.type == "Mine" and failure.message == "seven is odd"
    assert failure.bases[0] == "ValueError"
    assert failure.frames == ((6, "f"), (6, "<lambda>"), (4, "g"))


@pytest.mark.parametrize("signature", ["def f(): pass", "def f(a, b, c): pass", "def f(*, x): pass"])
def test_wrong_parameters_are_a_type_error_without_lines_of_the_student(
    server: ForkServer, signature: str
) -> None:
    outcome = only_step(run(server, signature))
    assert outcome.state == "raised" and outcome.failure is not None
    assert outcome.failure.type == "TypeError" and outcome.failure.frames == ()


EXCEPTIONS = {
    "str_raises": "class E(Exception):\n    def __str__(self): 1 / 0\n",
    "str_exits": "class E(Exception):\n    def __str__(self): raise SystemExit\n",
    "str_is_no_text": "class E(Exception):\n    def __str__(self): return 3\n",
    "subclass_of_str": "class S(str):\n    __getitem__ = encode = None\n"
    "class E(Exception):\n    def __str__(self): return S('a')\n",
    "traceback_hidden": "class E(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\n",
    "traceback_forged": "class E(Exception):\n    __traceback__ = 5\n",
    "mro_hidden": "class M(type):\n    __mro__ = property(lambda self: ())\n    __name__ = 5\n"
    "class E(Exception, metaclass=M): pass\n",
    "syntax_error": "class E(SyntaxError):\n    lineno = property(lambda self: 1 / 0)\n",
    "class_lies": "class E(Exception):\n    __class__ = property(lambda self: 1 / 0)\n",
    "half_a_pair": "class E(Exception):\n    def __str__(self): return '\\ud800'\n",
    "evil_argument": "class T:\n    def __str__(self): 1 / 0\n    __repr__ = __str__\n"
    "def E(): return RuntimeError(T())\n",
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_no_exception_harms_the_one_who_describes_it(server: ForkServer, name: str) -> None:
    calls = phase("public", (X, 0), (X, 1))
    source = EXCEPTIONS[name] + "def f(x, n):\n    if n: return x\n    raise E()\n"
    raised, returned = run(server, source, [calls]).steps["public"]
    assert raised.state == "raised" and raised.failure is not None, raised
    assert raised.failure.type == ("RuntimeError" if name == "evil_argument" else "E")
    raised.failure.message.encode()
    assert returned.state == "returned"


DISGUISED = {
    "a_class_of_that_name": "class ValueError(Exception): pass\nE = ValueError\n",
    "made_by_type": "E = type('ValueError', (BaseException,), {})\n",
    "renamed": "class E(Exception): pass\nE.__name__ = 'ValueError'\n",
    "renamed_by_a_text_with_a_hash": "class S(str):\n"
    "    __hash__ = __getitem__ = __eq__ = lambda *a: 1 / 0\n"
    "class E(Exception): pass\nE.__name__ = S('ValueError')\n",
    "below_one": "class ValueError(Exception): pass\nclass E(ValueError): pass\n",
    "module_is_no_text": "E = type('ValueError', (Exception,), {'__module__': 5})\n",
    "put_into_builtins": "import builtins\nclass ValueError(Exception): pass\n"
    "builtins.ValueError = ValueError\nE = ValueError\n",
}


@pytest.mark.parametrize("name", DISGUISED)
def test_a_class_with_the_name_of_a_built_in_exception_is_not_that_one(server: ForkServer, name: str) -> None:
    failure = only_step(run(server, DISGUISED[name] + "def f(x): raise E('no')\n")).failure
    assert failure is not None and "ValueError" not in (failure.type, *failure.bases)
    assert any(told.endswith(".ValueError") for told in (failure.type, *failure.bases))


def test_a_class_that_derives_from_the_built_in_one_of_its_name_is_one(server: ForkServer) -> None:
    source = "class ValueError(ValueError): pass\ndef f(x): raise ValueError('no')\n"
    failure = only_step(run(server, source)).failure
    assert failure is not None and failure.type == "solution.ValueError"
    assert failure.bases == ("ValueError", "Exception", "BaseException", "object")


def test_a_text_of_50_mb_is_cut(server: ForkServer) -> None:
    failure = only_step(run(server, "def f(x): raise ValueError('a' * (50 << 20))")).failure
    assert failure is not None and failure.message == "a" * 2000 + "…"


def test_names_with_half_a_surrogate_pair_become_text_that_can_be_written(server: ForkServer) -> None:
    source = "def g(): 1 / 0\ng.__code__ = g.__code__.replace(co_name='a\\ud800')\nf = lambda x: g()\n"
    failure = only_step(run(server, source)).failure
    assert failure is not None and failure.frames[-1] == (1, "a?")
    load = run(server, "globals()['a\\ud800'] = 1\n").load
    assert load is not None and load.names == ("a?",)


def test_deep_recursion_is_an_exception_of_the_student(server: ForkServer) -> None:
    failure = only_step(run(server, "def f(x): return f(x)")).failure
    assert failure is not None and failure.type == "RecursionError" and 0 < len(failure.frames) <= 20


# --- time -------------------------------------------------------------------------------------

LOOPS = {
    "python": "while True: pass",
    "c_under_the_lock": "sum(iter(int, 1))",
    "except_retry": "while True:\n        try: 1 / 0\n        except BaseException: pass",
    "signals_masked": "import signal\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: pass",
    "evil_str": "class E(Exception):\n        def __str__(self):\n            while True: pass\n    raise E",
    "evil_del": "class E:\n        def __del__(self):\n            while True: pass\n    E()",
    "sleep": "import time\n    time.sleep(3600)",
    "input_that_never_comes": "import threading\n    threading.Event().wait()",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_call_without_end_is_timed_out_and_the_next_call_is_made(server: ForkServer, name: str) -> None:
    calls = phase("public", (X, 0), (X, 1))
    source = f"def f(x, n):\n    if n: return x\n    {LOOPS[name]}\n"
    result = run(server, source, [calls], IMPATIENT)
    endless, returned = result.steps["public"]
    assert endless.state == "timed_out" and returned.state == "returned"
    assert ("did nothing" in endless.detail) == (name in ("sleep", "input_that_never_comes"))
    assert result.children == 2


def test_a_file_without_end_is_timed_out_at_loading(server: ForkServer) -> None:
    result = run(server, "while True: pass", limits=IMPATIENT)
    assert result.load is not None and result.load.state == "timed_out"
    assert "loading the file" in result.load.detail and result.children == 1


def test_after_a_few_calls_without_end_the_rest_is_not_run(server: ForkServer) -> None:
    cap = execution_module.MAX_TIMEOUTS
    calls = phase("public", *[(X, n) for n in range(cap + 3)])
    result = run(server, "def f(x, n):\n    if n == 1: return x\n    while True: pass", [calls], IMPATIENT)
    states = [o.state for o in result.steps["public"]]
    assert states.count("timed_out") == cap and states.count("returned") == 1
    assert states[cap + 1 :] == ["not_run"] * 2 and result.children == cap + 1 - 1


def test_the_seconds_of_all_calls_together_are_limited(server: ForkServer) -> None:
    limits = Limits(seconds_per_call=5.0, seconds=0.4, memory=256 << 20, output=4096)
    source = """
    import time
    def f(x, n):
        end = time.process_time() + 0.1
        while time.process_time() < end: pass
        return x
    """
    result = run(server, source, [phase("public", *[(X, n) for n in range(12)])], limits)
    states = [o.state for o in result.steps["public"]]
    assert states[0] == "returned" and states[-1] == "timed_out" and len(states) == 12
    assert "all calls together" in result.steps["public"][-1].detail


def test_a_patched_clock_buys_no_time(server: ForkServer) -> None:
    source = """
    import time
    for name in ("process_time_ns", "process_time", "perf_counter_ns", "monotonic", "time"):
        setattr(time, name, lambda: 0)
    def f(x):
        while True: pass
    """
    assert only_step(run(server, source, limits=IMPATIENT)).state == "timed_out"


def test_scribbling_over_the_progress_buys_no_more_than_the_seconds_in_all(server: ForkServer) -> None:
    limits = Limits(seconds_per_call=0.1, seconds=0.5, memory=256 << 20, output=4096)
    source = """
    import gc, mmap
    def f(x):
        maps = [o for o in gc.get_objects() if isinstance(o, mmap.mmap)]
        n = 0
        while True:
            n = (n + 1) % 250
            for m in maps: m[0] = n
    """
    assert only_step(run(server, source, limits=limits)).state == "timed_out"


# --- memory -----------------------------------------------------------------------------------

BOMBS = {
    "numpy": "return np.ones(10**9)",
    "a_little_too_much": "return np.ones(20 * 10**6)",
    "list": "a = []\n    while True: a.append(bytearray(1 << 20))",
    "text": "return 'a' * 10**10",
    "many_small": "a = [x]\n    while True: a = a + a",
    "matmul": "a = np.ones((6000, 6000)); return a @ a @ a",
    "mapped": "import mmap\n    m = mmap.mmap(-1, 4 << 30)\n    return x",
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_beyond_the_limit_is_refused_and_the_next_call_is_made(server: ForkServer, name: str) -> None:
    limits = Limits(seconds_per_call=5.0, seconds=20.0, memory=64 << 20, output=4096)
    calls = phase("public", (X, 0), (X, 1))
    source = f"import numpy as np\ndef f(x, n):\n    if n: return x\n    {BOMBS[name]}\n"
    bomb, after = run(server, source, [calls], limits).steps["public"]
    if name == "mapped":
        assert bomb.state in ("raised", "out_of_memory") and "memory" in str(bomb.failure)
    else:
        assert bomb.state == "out_of_memory", bomb
    assert after.state == "returned"


def test_memory_bombs_in_every_call_stop_after_a_few(server: ForkServer) -> None:
    limits = Limits(seconds_per_call=5.0, seconds=20.0, memory=64 << 20, output=4096)
    source = "import numpy as np\ndef f(x): return np.ones(1 << 30)"
    two = [phase("public", *[X] * 8), phase("hidden", *[X] * 3)]
    steps = run(server, source, two, limits).steps
    states = [o.state for name in ("public", "hidden") for o in steps[name]]
    assert states == ["out_of_memory"] * 3 + ["not_run"] * 8
    assert steps["hidden"][0].detail == "not run after 3 calls that ran out of memory"


@pytest.mark.parametrize("name", ["numpy", "json", "random", "__main__", "sys"])
def test_a_solution_named_like_a_module_takes_nothing_from_it(server: ForkServer, name: str) -> None:
    source = """
    import numpy as np, json, random, sys
    from sys import modules
    seen = [np.ones(2).sum(), json.dumps(1), random.random(), sys.maxsize]
    if __name__ == "__main__":
        raise SystemExit
    def f(x): return np.array(x) * 2
    """
    program = Program(textwrap.dedent(source), f"{name}.py", name, ("f",))
    outcome = only_step(execute(server, program, [phase("public")], LIMITS))
    assert outcome.state == "returned" and isinstance(outcome.value, ArrayValue)


def test_memory_that_runs_out_at_loading_is_told(server: ForkServer) -> None:
    limits = Limits(memory=64 << 20, output=4096)
    load = run(server, "import numpy as np\nA = np.ones(10**9)\n", limits=limits).load
    assert load is not None and load.state == "out_of_memory"


@pytest.mark.parametrize("name", ["DATA", "AS", "CPU", "NOFILE", "NPROC", "FSIZE", "CORE"])
def test_the_limits_of_a_child_cannot_be_raised_by_it(any_server: ForkServer, name: str) -> None:
    source = f"""
    import resource
    def f(x):
        before = resource.getrlimit(resource.RLIMIT_{name})
        try: resource.setrlimit(resource.RLIMIT_{name}, (resource.RLIM_INFINITY,) * 2)
        except (ValueError, OSError): pass
        else: return "raised"
        return "limited" if before == resource.getrlimit(resource.RLIMIT_{name}) != (-1, -1) else str(before)
    """
    assert said(only_step(run(any_server, source))) == "limited"


# --- ends of the process ----------------------------------------------------------------------

ENDS = {
    "os_exit": ("import os\n    os._exit(3)", "exit code 3"),
    "os_exit_0": ("import os\n    os._exit(0)", "exit code 0"),
    "segfault": ("import ctypes\n    ctypes.string_at(0)", "SIGSEGV) in line 4"),
    "closed_descriptors": ("import os\n    os.closerange(0, 100)\n    os._exit(1)", "exit code 1"),
}
# With a signal: confined it can't be sent, and abort crashes on.
SIGNALS = {
    "abort": ("import os\n    os.abort()", "SIGABRT", None),
    "kill": ("import os\n    os.kill(os.getpid(), 9)", "killed", "PermissionError"),
    "alarm": (
        "import signal\n    signal.setitimer(signal.ITIMER_REAL, .01)\n    while True: pass",
        "SIGALRM",
        "itimer_error",
    ),
}
ONE_OF_THREE = "def f(x, n):\n    if n != 1: return x\n    {}\n"


def three_calls() -> list[Phase]:
    return [phase("public", (X, 0), (X, 1), (X, 2))]


@pytest.mark.parametrize("name", ENDS)
def test_a_call_that_ends_the_process_costs_that_call_only(any_server: ForkServer, name: str) -> None:
    text, detail = ENDS[name]
    result = run(any_server, ONE_OF_THREE.format(text), three_calls())
    assert [o.state for o in result.steps["public"]] == ["returned", "crashed", "returned"]
    assert detail in result.steps["public"][1].detail
    assert result.children == 2


@pytest.mark.parametrize("name", SIGNALS)
def test_a_call_that_ends_the_process_by_a_signal_costs_that_call_only(
    bare_server: ForkServer, name: str
) -> None:
    text, detail, _ = SIGNALS[name]
    result = run(bare_server, ONE_OF_THREE.format(text), three_calls())
    assert [o.state for o in result.steps["public"]] == ["returned", "crashed", "returned"]
    assert detail in result.steps["public"][1].detail
    assert result.children == 2


@pytest.mark.parametrize("name", SIGNALS)
def test_a_confined_call_sends_no_signal(server: ForkServer, name: str) -> None:
    text, _, refused = SIGNALS[name]
    result = run(server, ONE_OF_THREE.format(text), three_calls())
    before, outcome, after = result.steps["public"]
    assert before.state == after.state == "returned"
    if refused is None:
        assert outcome.state == "crashed" and "the process crashed (SIG" in outcome.detail
        assert result.children == 2
    else:
        assert outcome.failure is not None and outcome.failure.type == refused
        assert outcome.failure.message == "[Errno 1] Operation not permitted"
        assert result.children == 1


def test_sys_exit_in_a_call_is_an_exception_and_needs_no_new_process(server: ForkServer) -> None:
    calls = phase("public", (X, 0), (X, 1))
    source = "import sys\ndef f(x, n):\n    if n: return x\n    sys.exit(0)\n"
    result = run(server, source, [calls])
    assert result.steps["public"][0].failure is not None
    assert result.steps["public"][0].failure.type == "SystemExit"
    assert result.steps["public"][1].state == "returned" and result.children == 1


@pytest.mark.parametrize("text", ["import os\nos._exit(0)", "import ctypes\nctypes.string_at(0)"])
def test_a_file_that_ends_the_process_is_not_tried_again(server: ForkServer, text: str) -> None:
    result = run(server, text)
    assert result.load is not None and result.load.state == "crashed" and result.children == 1


def test_a_file_that_ends_the_process_only_when_loaded_again_ends_all_the_same(server: ForkServer) -> None:
    source = "import os\ndef f(x, n): os._exit(1)\n"

    def start(number: int, job: Mapping[str, Any], memory: Any) -> None:
        if number:
            at, length = job["source"]
            ends = Program("import os; os._exit(1)", "solution.py", "solution", ("f",))
            memory.write(at, ends.to_bytes().ljust(length))

    cap = execution_module.MAX_CRASHES
    calls = phase("public", *[(X, n) for n in range(cap + 4)])
    result = run(cast(ForkServer, Meddled(server, start=start)), source, [calls])
    states = [o.state for o in result.steps["public"]]
    assert states == ["crashed"] * cap + ["not_run"] * 4 and result.children == cap


LEFT_RUNNING = """
import atexit, time, weakref
{threads}
atexit.register(lambda: time.sleep(3600))
class A: pass
keep = A()
weakref.finalize(keep, time.sleep, 3600)
def f(x): return x
"""
THREADS = """
import threading
def forever():
    while True: time.sleep(0.01)
threading.Thread(target=forever).start()
threading.Thread(target=forever, daemon=True).start()
"""


def test_what_is_left_running_at_the_end_holds_nothing_up(
    server: ForkServer, bare_server: ForkServer
) -> None:
    for one, threads in ((server, ""), (bare_server, THREADS)):
        result = run(one, LEFT_RUNNING.format(threads=threads))
        assert only_step(result).state == "returned" and result.children == 1


def test_a_confined_file_starts_no_thread(server: ForkServer) -> None:
    load = run(server, LEFT_RUNNING.format(threads=THREADS)).load
    assert load is not None and load.failure is not None
    assert load.failure.type == "RuntimeError" and "can't start new thread" in load.failure.message


# --- output -----------------------------------------------------------------------------------

FLOODS = {
    "print": "for n in range(3000): print('a' * 100)",
    "write": "import sys\n    for n in range(3000): sys.stdout.write('a' * 100 + '\\n')",
    "one_write": "import sys\n    sys.stdout.write('a' * 10**6)",
    "bytes": "import sys\n    sys.__stdout__.buffer.write(b'a' * 10**6)",
    "stderr": "import sys\n    for n in range(3000): print('a' * 100, file=sys.stderr)",
    "descriptor": "import os\n    for n in range(300): assert os.write(1, b'a' * 4096) == 4096",
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_output_is_cut_without_an_error(server: ForkServer, name: str) -> None:
    result = run(server, f"def f(x):\n    {FLOODS[name]}\n    return x\n")
    outcome = only_step(result)
    assert outcome.state == "returned"
    if name != "descriptor":
        text = outcome.stderr if name == "stderr" else outcome.stdout
        assert len(text) == LIMITS.output and set(text) <= {"a", "\n"} and result.truncated


def test_output_is_cut_into_the_segments_of_load_and_calls(server: ForkServer) -> None:
    source = """
    import sys
    print("loading")
    def f(x, n):
        print("call", n)
        print("error", n, file=sys.stderr)
        return x
    """
    phases = [phase("public", (X, 0), (X, 1)), phase("hidden", (X, 2), (X, 3))]
    result = run(server, source, phases)
    assert result.load is not None and result.load.stdout == "loading\n" and not result.truncated
    for name, first in (("public", 0), ("hidden", 2)):
        for n, outcome in enumerate(result.steps[name], start=first):
            assert (outcome.stdout, outcome.stderr) == (f"call {n}\n", f"error {n}\n")


def test_what_a_call_printed_before_it_crashed_is_kept(server: ForkServer) -> None:
    calls = phase("public", (X, 0), (X, 1))
    source = """
    import os
    def f(x, n):
        print("before", n, end="")
        if n == 0: os._exit(1)
        return x
    """
    crashed, returned = run(server, source, [calls]).steps["public"]
    assert crashed.state == "crashed" and crashed.stdout == "before 0" and returned.stdout == "before 1"


def test_reading_from_the_user_ends_at_once(server: ForkServer) -> None:
    for text in ("input('name? ')", "open(0).read() or 1 / 0"):
        failure = only_step(run(server, f"def f(x): return {text}")).failure
        assert failure is not None and failure.type in ("EOFError", "ZeroDivisionError")


# --- inputs -----------------------------------------------------------------------------------


def test_every_call_gets_its_own_fresh_inputs(server: ForkServer) -> None:
    source = "def f(x):\n    y = x.copy()\n    x[:] = 99\n    return y"
    for outcome in run(server, source, [phase("public", X, X, X)]).steps["public"]:
        assert isinstance(outcome.value, ArrayValue) and outcome.overwritten == {0}
        np.testing.assert_array_equal(outcome.value.array(), X)


@pytest.mark.parametrize(
    ("text", "field", "found"),
    [
        ("y[0] = 7", "overwritten", {1}),
        ("x.shape = (3, 2)", "reshaped", {0}),
        ("y.dtype = 'i8'", "reshaped", {1}),
        ("x *= 1; x += 0", "overwritten", set()),
        ("x[0] += 1; x[0] -= 1", "overwritten", set()),
        ("x.sort()", "overwritten", set()),
        ("x[::-1].sort(axis=0)", "overwritten", {0}),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_changes_of_arguments_are_seen(server: ForkServer, text: str, field: str, found: set[int]) -> None:
    calls = phase("public", (X, np.ones(3)))
    source = "import warnings\nwarnings.simplefilter('ignore')\n"
    outcome = only_step(run(server, f"{source}def f(x, y):\n    {text}\n    return 1", [calls]))
    assert outcome.state == "returned", outcome
    assert getattr(outcome, field) == found


@pytest.mark.parametrize("layout", ["c", "fortran", "strided"])
def test_a_changed_argument_is_kept_as_it_is_after_the_call(server: ForkServer, layout: str) -> None:
    builder = PhaseBuilder()
    for _ in range(2):
        builder.add_call([ArrayArgument(X, layout), ArrayArgument(np.ones(3, np.int64))])
    block = builder.finish()
    calls = Phase("public", block, read_plan(block), 1 << 12, 1 << 13)
    for outcome in run(server, "def f(x, y):\n    x[0] = -7\n    return y", [calls]).steps["public"]:
        ((number, kept),) = outcome.after
        expected = X.copy()
        expected[0] = -7
        assert number == 0 and isinstance(kept, ArrayValue)
        assert kept.array().dtype == X.dtype
        np.testing.assert_array_equal(kept.array(), expected)


def test_of_hidden_calls_and_of_large_arrays_nothing_is_kept(server: ForkServer) -> None:
    source = "def f(x):\n    x[:] = 9\n    return 1"
    large = np.zeros(execution_module.MAX_AFTER // 8 + 1)
    (hidden,) = run(server, source, [phase("hidden", X)]).steps["hidden"]
    first, last = run(server, source, [phase("public", large, X)]).steps["public"]
    assert (hidden.overwritten, hidden.after) == ({0}, ())
    assert (first.overwritten, first.after) == ({0}, ())
    assert [number for number, _ in last.after] == [0]


def test_a_change_after_the_call_is_seen_as_well(server: ForkServer) -> None:
    source = """
    kept = []
    def f(x):
        for old in kept: old[:] = 5
        kept.append(x)
        return 1
    """
    first, last = run(server, source, [phase("public", X, X)]).steps["public"]
    assert first.overwritten == {0} and last.overwritten == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x", {0}),
        ("x.T", {0}),
        ("x[1:, ::-1]", {0}),
        ("y[1:2]", {1}),
        ("[x + 1, y]", {1}),
        ("x + y", set()),
        ("x[:0]", set()),
        ("x.copy()", set()),
        ("np.broadcast_to(y, (2, 3))", {1}),
    ],
)
def test_an_answer_that_shares_memory_with_an_argument_is_seen(
    server: ForkServer, text: str, found: set[int]
) -> None:
    calls = phase("public", (X, np.ones(3)))
    outcome = only_step(run(server, f"import numpy as np\ndef f(x, y): return {text}", [calls]))
    assert outcome.aliased == found


def test_read_only_arrays_refuse_to_be_written(server: ForkServer) -> None:
    outcome = only_step(run(server, "def f(x): x[0] = 1", [phase("public", X, read_only=True)]))
    assert outcome.state == "raised" and outcome.failure is not None
    assert "read-only" in outcome.failure.message and outcome.overwritten == frozenset()


def test_writing_past_the_read_only_flag_is_seen(server: ForkServer) -> None:
    source = """
    import ctypes
    def f(x):
        ctypes.memset(x.ctypes.data, 1, 8)
        return 1
    """
    outcome = only_step(run(server, source, [phase("public", X, read_only=True)]))
    assert outcome.state == "returned" and outcome.overwritten == {0}


def test_a_second_look_at_an_answer_shows_what_it_has_become(server: ForkServer) -> None:
    source = """
    buffer = None
    def f(x):
        global buffer
        if buffer is None: buffer = x * 0
        buffer += 1
        return buffer
    """
    first, second, again = run(server, source, [phase("public", X, X, REREAD)]).steps["public"]
    assert isinstance(first.value, ArrayValue) and isinstance(again.value, ArrayValue)
    assert first.value.array()[0, 0] == 1 and again.value.array()[0, 0] == 2 and again.value == second.value
    first, _, again = run(server, "def f(x): return x + 1", [phase("public", X, X, REREAD)]).steps["public"]
    assert first.value == again.value


# --- cases and submissions apart ----------------------------------------------------------------

SPOILED = {
    "numpy": "import numpy as np\nnp.exp = np.array = np.ndarray.view = np.asarray = None",
    "numpy_settings": "import numpy as np\nnp.seterr(all='raise')\nnp.random.seed(1)\n"
    "np.set_printoptions(precision=1)",
    "json": "import json\njson.dumps = json.loads = json.JSONEncoder = json.encoder.c_make_encoder = None",
    "builtins": "import builtins\nbuiltins.len = lambda x: 0\nbuiltins.isinstance = lambda *a: True\n"
    "builtins.zip = builtins.sum = None",
    "modules": "import sys\nsys.modules.clear()",
    "no_modules": "import sys\nsys.modules = None",
    "trace": "import sys\nsys.settrace(lambda *a: 1 / 0)",
    "profile": "import sys\nsys.setprofile(lambda *a: sys.exit())",
    "recursion_limit": "import sys\nsys.setrecursionlimit(30)",
    "streams": "import sys\nsys.stdout.close()\nsys.stderr = None",
    "gc": "import gc\ngc.unfreeze()\ngc.disable()",
    "signals": "import signal\n[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 10, 11, 13, 14, 15)]",
    "folder": "import os\nos.chdir('/tmp')\nos.umask(0)\nos.environ['A'] = 'b'",
    "environment": "import os\nos.umask(0)\nos.environ['A'] = 'b'\nos.environ.clear()",
    "garbage": f"import os\nos.write({JUDGE}, b'\\xff' * 300)\nos.write({JUDGE}, b'')",
    "closed": "import os\nos.closerange(3, 7)",
    "shut": f"import socket\ns = socket.socket(fileno={JUDGE})\ns.shutdown(2)\ns.close()",
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_one_submission_spoils_does_not_reach_the_next(any_server: ForkServer, name: str) -> None:
    for place in ("module", "call"):
        spoil = SPOILED[name]
        if place == "call":
            spoil = f"def spoil():\n    exec({spoil!r}, {{}})\n"
        hook = "    spoil()\n" if place == "call" else ""
        source = f"{spoil}\ndef f(x, n):\n{hook}    return x + n\n"
        result = run(
            any_server, source, [phase("public", (X, 0), (X, 1)), phase("hidden", (X, 2))], IMPATIENT
        )
        if result.load is not None and result.load.callable:
            assert [len(steps) for steps in result.steps.values()] == [2, 1]
        clean = run(
            any_server, "import numpy as np, os, json\ndef f(x): return np.exp(x) + len(json.dumps([]))"
        )
        value = only_step(clean).value
        assert isinstance(value, ArrayValue)
        np.testing.assert_array_equal(value.array(), np.exp(X) + 2)


@pytest.mark.parametrize("name", ["numpy_settings", "trace", "gc", "signals", "environment", "streams"])
def test_a_changed_setting_costs_a_right_answer_nothing(any_server: ForkServer, name: str) -> None:
    source = f"{SPOILED[name]}\ndef f(x): return x + 1\n"
    if name == "trace":
        source = "import sys\nsys.settrace(lambda *a: None)\ndef f(x): return x + 1\n"
    value = only_step(run(any_server, source)).value
    assert isinstance(value, ArrayValue)
    np.testing.assert_array_equal(value.array(), X + 1)


def test_a_changed_folder_costs_a_right_answer_nothing(server: ForkServer, bare_server: ForkServer) -> None:
    source = f"{SPOILED['folder']}\ndef f(x): return x + 1\n"
    value = only_step(run(bare_server, source)).value
    assert isinstance(value, ArrayValue)
    np.testing.assert_array_equal(value.array(), X + 1)
    load = run(server, source).load
    assert load is not None and load.failure is not None
    assert load.failure.type == "PermissionError" and load.failure.frames[-1] == (2, "<module>")


def test_state_of_one_submission_is_unknown_to_the_next(server: ForkServer) -> None:
    source = """
    import builtins, sys, numpy as np
    seen = [hasattr(builtins, "mark"), hasattr(np, "mark"), "marked" in sys.modules]
    builtins.mark = np.mark = sys.modules["marked"] = 1
    def f(x): return str(seen)
    """
    for _ in range(3):
        assert said(only_step(run(server, source))) == "[False, False, False]"


def test_outcomes_are_the_same_when_a_submission_runs_again(server: ForkServer) -> None:
    source = """
    import os, random
    def f(x, n):
        print(n, random.seed(1), {str(k): k for k in range(3)}, hash("text"))
        if n == 1: raise ValueError(str(set("abcdef")))
        if n == 2: os._exit(4)
        return x * n
    """
    phases = [phase("public", *[(X, n) for n in range(4)])]
    from dataclasses import replace

    def told() -> list[object]:
        return [replace(o, cpu_s=0.0) for o in run(server, source, phases).steps["public"]]

    assert told() == told()


def test_a_phase_may_have_any_number_of_calls(server: ForkServer) -> None:
    calls = replace(phase("public", *[(X,)] * 1500), recorded=None)
    result = run(server, "def f(x): return x\n", [calls])
    assert [o.state for o in result.steps["public"]] == ["returned"] * 1500 and result.children == 1


def test_the_fork_server_is_told_no_names(server: ForkServer) -> None:
    """What it was told stays in its memory, which every later child inherits."""
    jobs: list[str] = []
    meddled = Meddled(server, start=lambda number, job, memory: jobs.append(json.dumps(job)))
    program = Program("def zq7_entry(x): return x\n", "zq7_file.py", "zq7_module", ("zq7_entry",))
    result = execute(cast(ForkServer, meddled), program, [phase("public")], LIMITS)
    assert only_step(result).state == "returned"
    assert jobs and not any("zq7" in job for job in jobs)
