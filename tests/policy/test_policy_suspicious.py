"""Code that hides what it runs is shown to the teacher; code that does not, is not."""

from __future__ import annotations

import pytest
from policy_samples import marked, report

SUSPICIOUS: dict[str, tuple[str, str]] = {
    "exec_of_an_unknown_text": (
        "dynamic_code",
        """
        def mlm_forward(x):
            ¤exec(open("f").read())
        """,
    ),
    "eval_of_a_harmless_text": (
        "dynamic_code",
        """
        def mlm_forward(x):
            return ¤eval("x + 1")
        """,
    ),
    "compile": (
        "dynamic_code",
        """
        code = ¤compile("1 + 1", "", "eval")
        def mlm_forward(x):
            return x
        """,
    ),
    "exec_at_module_level": (
        "dynamic_code",
        """
        ¤exec("a = 1")
        def mlm_forward(x):
            return x
        """,
    ),
    "exec_in_a_function_that_runs_at_import": (
        "dynamic_code",
        """
        def setup():
            ¤exec("a = 1")
        setup()
        def mlm_forward(x):
            return x
        """,
    ),
    "exec_passed_on": (
        "dynamic_code",
        """
        def mlm_forward(x):
            list(map(¤exec, x))
        """,
    ),
    "getattr_with_an_unknown_name": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x, name):
            return ¤getattr(torch, name)(x)
        """,
    ),
    "getattr_with_a_name_from_a_loop": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x):
            name = ""
            for c in "softmax":
                name += c
            return ¤getattr(torch, name)(x)
        """,
    ),
    "getattr_with_a_name_read_from_outside": (
        "unresolved_lookup",
        """
        import os, torch
        def mlm_forward(x):
            return ¤getattr(torch.nn.functional, os.environ["ACT"])(x)
        """,
    ),
    "getattr_on_a_tensor": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x, name):
            return ¤getattr(torch.tensor(x), name)(-1)
        """,
    ),
    "getattr_over_dir": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x):
            return [¤getattr(torch, n) for n in dir(torch) if n.startswith("soft")][0](x)
        """,
    ),
    "getattr_passed_on": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x):
            return list(map(¤getattr, [torch], ["softmax"]))
        """,
    ),
    "vars_with_an_unknown_key": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x, name):
            return ¤vars(torch)[name](x)
        """,
    ),
    "vars_as_a_whole": (
        "unresolved_lookup",
        """
        import torch
        def mlm_forward(x):
            return [f for n, f in ¤vars(torch).items()]
        """,
    ),
    "import_of_an_unknown_module": (
        "unresolved_lookup",
        """
        import importlib
        def mlm_forward(x, name):
            return ¤importlib.import_module(name).f(x)
        """,
    ),
    "attrgetter_with_an_unknown_name": (
        "unresolved_lookup",
        """
        import operator, torch
        def mlm_forward(x, name):
            return ¤operator.attrgetter(name)(torch)(x)
        """,
    ),
    "modules_with_an_unknown_key": (
        "unresolved_lookup",
        """
        import sys, torch
        def mlm_forward(x, name):
            return ¤sys.modules[name].f(x)
        """,
    ),
    "ctypes": (
        "native_code",
        """
        import ctypes
        def mlm_forward(x):
            return ¤ctypes.CDLL(None)
        """,
    ),
    "cffi": (
        "native_code",
        """
        from cffi import FFI
        ffi = ¤FFI()
        def mlm_forward(x):
            return ffi
        """,
    ),
    "get_frame": (
        "dynamic_code",
        """
        import sys
        def mlm_forward(x):
            return ¤sys._getframe(1)
        """,
    ),
    "get_objects": (
        "dynamic_code",
        """
        from gc import get_objects as g
        def mlm_forward(x):
            return ¤g()
        """,
    ),
    "pickle": (
        "dynamic_code",
        """
        import pickle
        def mlm_forward(x):
            return ¤pickle.loads(x)
        """,
    ),
    "marshal": (
        "dynamic_code",
        """
        import marshal
        def mlm_forward(x):
            return ¤marshal.loads(x)
        """,
    ),
    "code_type": (
        "dynamic_code",
        """
        import types
        def mlm_forward(x):
            return ¤types.CodeType(x)
        """,
    ),
    "subclasses": (
        "dynamic_code",
        """
        def mlm_forward(x):
            return object.¤__subclasses__()
        """,
    ),
    "trace": (
        "dynamic_code",
        """
        import sys
        ¤sys.settrace(None)
        def mlm_forward(x):
            return x
        """,
    ),
    "profile_by_text": (
        "dynamic_code",
        """
        import sys
        def mlm_forward(x):
            return ¤eval("sys.setprofile")
        """,
    ),
    "loader": (
        "dynamic_code",
        """
        def mlm_forward(x):
            return ¤__loader__.load_module("torch")
        """,
    ),
    "jit_from_a_text": (
        "dynamic_code",
        """
        import torch
        unit = ¤torch.jit.CompilationUnit("def f(x): return x")
        def mlm_forward(x):
            return unit.f(x)
        """,
    ),
    "timed_text": (
        "dynamic_code",
        """
        import timeit
        def mlm_forward(x):
            return ¤timeit.timeit("1")
        """,
    ),
    "other_program": (
        "dynamic_code",
        """
        import os
        def mlm_forward(x):
            return ¤os.system("python other.py")
        """,
    ),
    "modes_of_torch": (
        "dynamic_code",
        """
        from torch.overrides import TorchFunctionMode
        class Quiet(¤TorchFunctionMode):
            pass
        def mlm_forward(x):
            with Quiet():
                return x
        """,
    ),
    "mode_taken_away": (
        "dynamic_code",
        """
        import torch
        def mlm_forward(x):
            mode = ¤torch.overrides._pop_mode()
            return x
        """,
    ),
    "dispatch_modes": (
        "dynamic_code",
        """
        import torch.utils._python_dispatch as dispatch
        def mlm_forward(x):
            return ¤dispatch._get_current_dispatch_mode()
        """,
    ),
    "functions_not_watched": (
        "dynamic_code",
        """
        import torch
        def mlm_forward(x):
            with ¤torch._C.DisableTorchFunctionSubclass():
                return x
        """,
    ),
    "operators_not_watched": (
        "dynamic_code",
        """
        from torch import _C as core
        def mlm_forward(x):
            with ¤core._DisableTorchDispatch():
                return x
        """,
    ),
    "looking_for_the_watch": (
        "dynamic_code",
        """
        from torch._C import _len_torch_function_stack as watched
        def mlm_forward(x):
            return x if ¤watched() else -x
        """,
    ),
    "operator_below_the_dispatcher": (
        "dynamic_code",
        """
        import torch
        def mlm_forward(x):
            return torch.ops.aten.exp.default.¤redispatch(1, x)
        """,
    ),
    "other_kernels": (
        "dynamic_code",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.library.Library("aten", "IMPL")
        """,
    ),
    "references_in_python": (
        "dynamic_code",
        """
        import torch._refs as refs
        def mlm_forward(x):
            return ¤refs.exp(x)
        """,
    ),
    "hooks_of_all_modules": (
        "dynamic_code",
        """
        import torch
        def mlm_forward(x):
            ¤torch.nn.modules.module.register_module_forward_hook(print)
            return x
        """,
    ),
    "module_put_in_place": (
        "unresolved_lookup",
        """
        import sys
        def mlm_forward(x):
            ¤sys.modules["scipy.special"] = x
        """,
    ),
    "module_taken_away": (
        "dynamic_code",
        """
        import sys
        def mlm_forward(x):
            return ¤sys.modules.pop("scipy.special")
        """,
    ),
    "finders": (
        "dynamic_code",
        """
        from sys import meta_path
        def mlm_forward(x):
            ¤meta_path.clear()
        """,
    ),
    "module_run_again": (
        "dynamic_code",
        """
        import importlib, math
        def mlm_forward(x):
            return ¤importlib.reload(math)
        """,
    ),
    "copy_of_a_module": (
        "dynamic_code",
        """
        import importlib.util
        def mlm_forward(x):
            return ¤importlib.util.spec_from_file_location("a", "b")
        """,
    ),
    "loader_of_a_copy": (
        "dynamic_code",
        """
        from importlib.machinery import SourceFileLoader
        def mlm_forward(x):
            return ¤SourceFileLoader("a", "b").load_module()
        """,
    ),
    "cell": (
        "dynamic_code",
        """
        import numpy as np
        def mlm_forward(x):
            return np.linalg.norm.¤__closure__
        """,
    ),
    "what_is_wrapped": (
        "dynamic_code",
        """
        import scipy.linalg
        def mlm_forward(x):
            return scipy.linalg.norm.¤__wrapped__(x)
        """,
    ),
    "frame_of_a_traceback": (
        "dynamic_code",
        """
        def mlm_forward(x):
            try:
                return x[9]
            except IndexError as error:
                return error.__traceback__.¤tb_frame
        """,
    ),
    "frame_of_a_generator": (
        "dynamic_code",
        """
        def mlm_forward(x):
            return (i for i in x).¤gi_frame
        """,
    ),
    "unwrap": (
        "dynamic_code",
        """
        import inspect, math
        def mlm_forward(x):
            return ¤inspect.unwrap(math.exp)
        """,
    ),
    "pickled_array": (
        "dynamic_code",
        """
        import io, numpy as np
        def mlm_forward(x):
            return ¤np.load(io.BytesIO(x), allow_pickle=True)
        """,
    ),
    "the_grader_by_text": (
        "dynamic_code",
        """
        import importlib
        def mlm_forward(x):
            return ¤importlib.import_module("grader.judge")
        """,
    ),
    "the_grader_after_a_self_test_that_is_none": (
        "dynamic_code",
        """
        __name__ = "__main__"
        def mlm_forward(x):
            return x
        if __name__ == "__main__":
            ¤import grader
        """,
    ),
    "the_grader": (
        "dynamic_code",
        """
        ¤import grader.judge
        def mlm_forward(x):
            return x
        """,
    ),
}


@pytest.mark.parametrize(("rule", "source"), SUSPICIOUS.values(), ids=SUSPICIOUS)
def test_hiding_is_suspicious_at_its_place_and_no_violation(rule: str, source: str) -> None:
    source, expected = marked(source)
    found = report(source)
    assert found["violations"] == []
    got = [(entry["rule"], entry["line"], entry["column"]) for entry in found["suspicious"]]
    assert (rule, *expected[0]) in got
    assert {line for _, line, _ in got} == {expected[0][0]}
    assert all("costs nothing" in entry["message"] for entry in found["suspicious"])


PLAIN: dict[str, str] = {
    "model_eval": """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x):
                return x
        def mlm_forward(x):
            return Model().eval()(x)
        """,
    "the_grader_in_a_self_test": """
        def mlm_forward(x):
            return x
        if __name__ == "__main__":
            import grader
            from grader import check
            display(grader.check(mlm_forward, exercise="mlm_forward.pack"))
        """,
    "regular_expression": """
        import re
        pattern = re.compile("a+")
        def mlm_forward(x):
            return pattern.match(x)
        """,
    "torch_compile": """
        import torch
        @torch.compile
        def mlm_forward(x):
            return torch.exp(x)
        """,
    "ctypes_of_an_array": """
        import numpy as np
        def mlm_forward(x):
            return x.ctypes.data, np.load
        """,
    "own_function_named_exec": """
        def exec(text):
            return text
        def mlm_forward(x):
            return exec("import torch; torch.softmax")
        """,
    "eval_under_the_main_guard": """
        def mlm_forward(x):
            return x
        if __name__ == "__main__":
            print(eval(input()))
        """,
    "exec_in_a_function_that_nothing_calls": """
        def helper():
            exec("a = 1")
        def mlm_forward(x):
            return x
        """,
    "vars_of_own_objects": """
        class Config:
            def __init__(self):
                self.a = 1
        def mlm_forward(x):
            return vars(Config())["a"], Config().__dict__
        """,
    "import_of_an_allowed_module_by_text": """
        import importlib
        np = importlib.import_module("numpy")
        def mlm_forward(x):
            return np.exp(x)
        """,
    "getattr_with_a_default": """
        import torch
        def mlm_forward(x):
            device = getattr(torch, "default_device", None)
            return device, getattr(x, "shape", ())
        """,
    "unused_ctypes": """
        import ctypes
        def mlm_forward(x):
            return x
        """,
    "own_wrapper": """
        import functools
        def traced(f):
            @functools.wraps(f)
            def inner(*args):
                return f(*args)
            return inner
        @traced
        def helper(x):
            return x
        def mlm_forward(x):
            return helper.__wrapped__(x)
        """,
    "line_of_a_traceback": """
        import traceback
        def mlm_forward(x):
            try:
                return x[9]
            except IndexError as error:
                traceback.print_exc()
                return error.__traceback__.tb_lineno
        """,
    "arrays_that_are_read": """
        import io, numpy as np
        def mlm_forward(x):
            return np.load(io.BytesIO(x), allow_pickle=False)
        """,
    "own_attributes": """
        import torch
        class Layer:
            def __init__(self):
                self.library = {"overrides": 1}
                self.overrides = 2
        def mlm_forward(x):
            return Layer().library, Layer().overrides
        """,
    "module_of_an_own_dictionary": """
        modules = {}
        def mlm_forward(x):
            modules.pop("a", None)
            modules.update(b=x)
            return modules.clear()
        """,
    "json_loads": """
        import json
        def mlm_forward(x):
            return json.loads("1")
        """,
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
def test_code_that_hides_nothing_is_not_suspicious(source: str) -> None:
    found = report(source)
    assert found["suspicious"] == []
    assert found["violations"] == []
