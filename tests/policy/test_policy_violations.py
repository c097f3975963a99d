"""Every way of using a banned helper is found, at its place: the sign ¤ stands where it must be."""

from __future__ import annotations

import pytest
from policy_samples import helpers, marked, places, report

F = "torch.nn.functional.softmax"
T = "torch.softmax"

CASES: dict[str, tuple[str, str]] = {
    "module_alias": (
        F,
        """
        import torch.nn.functional as f
        def mlm_forward(x):
            return ¤f.softmax(x, -1)
        """,
    ),
    "plain_import": (
        F,
        """
        import torch.nn.functional
        def mlm_forward(x):
            return ¤torch.nn.functional.softmax(x, -1)
        """,
    ),
    "from_import_alias": (
        T,
        """
        from torch import softmax as s
        def mlm_forward(x):
            return ¤s(x, -1)
        """,
    ),
    "submodule_alias_chain": (
        F,
        """
        import torch.nn as nn
        G = nn
        H = G.functional
        def mlm_forward(x):
            return ¤H.softmax(x, -1)
        """,
    ),
    "from_torch_import_nn": (
        "torch.nn.GELU",
        """
        from torch import nn
        act = ¤nn.GELU()
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "local_import": (
        F,
        """
        def mlm_forward(x):
            from torch.nn import functional as F
            return ¤F.softmax(x, -1)
        """,
    ),
    "global_import_in_a_function": (
        F,
        """
        def setup():
            global F
            import torch.nn.functional as F
        setup()
        def mlm_forward(x):
            return ¤F.softmax(x, -1)
        """,
    ),
    "assigned": (
        T,
        """
        import torch
        g = ¤torch.softmax
        def mlm_forward(x):
            return g(x, -1)
        """,
    ),
    "assigned_locally": (
        T,
        """
        import torch
        def mlm_forward(x):
            g = ¤torch.softmax
            return g(x, -1)
        """,
    ),
    "tuple_unpacking": (
        T,
        """
        import torch
        e, g = torch.exp, ¤torch.softmax
        def mlm_forward(x):
            return g(x, -1)
        """,
    ),
    "nested_unpacking": (
        T,
        """
        import torch
        (e, (g, h)) = (torch.exp, (¤torch.softmax, 1))
        def mlm_forward(x):
            return g(x, -1)
        """,
    ),
    "starred_unpacking": (
        T,
        """
        import torch
        e, *g = [torch.exp, ¤torch.softmax]
        def mlm_forward(x):
            return g[0](x, -1)
        """,
    ),
    "chained_assignment": (
        T,
        """
        import torch
        a = b = ¤torch.softmax
        def mlm_forward(x):
            return b(x, -1)
        """,
    ),
    "walrus": (
        T,
        """
        import torch
        def mlm_forward(x):
            return (g := ¤torch.softmax)(x, -1)
        """,
    ),
    "walrus_in_a_comprehension": (
        F,
        """
        import torch
        def mlm_forward(x):
            [m := torch.nn.functional for _ in x]
            return ¤m.softmax(x)
        """,
    ),
    "augmented_list": (
        T,
        """
        import torch
        fs = []
        fs += [¤torch.softmax]
        def mlm_forward(x):
            return fs[0](x, -1)
        """,
    ),
    "augmented_dict": (
        T,
        """
        import torch
        fs = {}
        fs |= {"s": ¤torch.softmax}
        def mlm_forward(x):
            return fs["s"](x, -1)
        """,
    ),
    "annotated_assignment": (
        T,
        """
        import torch
        g: object = ¤torch.softmax
        def mlm_forward(x):
            return g(x, -1)
        """,
    ),
    "for_loop_over_functions": (
        T,
        """
        import torch
        def mlm_forward(x):
            for f in (torch.exp, ¤torch.softmax):
                x = f(x)
            return x
        """,
    ),
    "for_loop_over_modules": (
        T,
        """
        import numpy as np, torch
        def mlm_forward(x):
            for lib in [np, torch]:
                x = ¤lib.softmax(x)
            return x
        """,
    ),
    "module_level_for_loop": (
        T,
        """
        import torch
        for f in [¤torch.softmax]:
            pass
        def mlm_forward(x):
            return f(x)
        """,
    ),
    "zip_of_modules": (
        F,
        """
        import torch.nn.functional as F
        def mlm_forward(x):
            for _, lib in zip("a", [F]):
                x = ¤lib.softmax(x)
            return x
        """,
    ),
    "dictionary_by_key": (
        T,
        """
        import torch
        ops = {"e": torch.exp, "s": ¤torch.softmax}
        def mlm_forward(x):
            return ops["s"](x, -1)
        """,
    ),
    "dictionary_by_computed_key": (
        T,
        """
        import torch
        ops = {"e": torch.exp, "s": ¤torch.softmax}
        def mlm_forward(x, key):
            return ops[key](x, -1)
        """,
    ),
    "dictionary_get": (
        T,
        """
        import torch
        ops = {"s": ¤torch.softmax}
        def mlm_forward(x):
            return ops.get("s")(x, -1)
        """,
    ),
    "dictionary_values": (
        T,
        """
        import torch
        ops = {"s": ¤torch.softmax}
        def mlm_forward(x):
            for f in ops.values():
                x = f(x)
            return x
        """,
    ),
    "dict_call": (
        T,
        """
        import torch
        ops = dict(s=¤torch.softmax)
        def mlm_forward(x):
            return ops["s"](x, -1)
        """,
    ),
    "dict_of_modules": (
        F,
        """
        import torch.nn.functional as F
        libs = {"f": F}
        def mlm_forward(x):
            return ¤libs["f"].softmax(x, -1)
        """,
    ),
    "item_assignment": (
        T,
        """
        import torch
        ops = {}
        ops["s"] = ¤torch.softmax
        def mlm_forward(x):
            return ops["s"](x, -1)
        """,
    ),
    "append": (
        T,
        """
        import torch
        ops = []
        ops.append(¤torch.softmax)
        def mlm_forward(x):
            return ops[0](x, -1)
        """,
    ),
    "append_in_a_loop": (
        T,
        """
        import torch
        ops = []
        for f in (¤torch.softmax,):
            ops.append(f)
        def mlm_forward(x):
            return ops[0](x, -1)
        """,
    ),
    "update": (
        T,
        """
        import torch
        ops = {}
        ops.update({"s": ¤torch.softmax})
        def mlm_forward(x):
            return ops["s"](x, -1)
        """,
    ),
    "registered_by_a_function": (
        T,
        """
        import torch
        ops = {}
        def register(name, f):
            ops[name] = f
        register("s", ¤torch.softmax)
        def mlm_forward(x):
            return ops["s"](x, -1)
        """,
    ),
    "registered_by_a_decorator": (
        T,
        """
        import torch
        ops = {}
        def register(f):
            ops[f.__name__] = f
            return f
        @register
        def weights(x):
            return ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return ops["weights"](x)
        """,
    ),
    "registered_by_a_decorator_factory": (
        T,
        """
        import torch
        ops = {}
        def register(name):
            def keep(f):
                ops[name] = f
                return f
            return keep
        @register("w")
        def _(x):
            return ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return ops["w"](x)
        """,
    ),
    "registered_in_an_object": (
        T,
        """
        import torch
        class Registry:
            def __init__(self):
                self.fs = {}
            def add(self, name, f):
                self.fs[name] = f
            def get(self, name):
                return self.fs[name]
        registry = Registry()
        registry.add("s", ¤torch.softmax)
        def mlm_forward(x):
            return registry.get("s")(x, -1)
        """,
    ),
    "class_attribute": (
        T,
        """
        import torch
        class A:
            f = ¤torch.softmax
        def mlm_forward(x):
            return A.f(x, -1)
        """,
    ),
    "class_attribute_through_an_instance": (
        T,
        """
        import torch
        class A:
            f = staticmethod(¤torch.softmax)
        def mlm_forward(x):
            return A().f(x, -1)
        """,
    ),
    "import_in_a_class": (
        T,
        """
        class A:
            from torch import ¤softmax
        def mlm_forward(x):
            return A.softmax(x, -1)
        """,
    ),
    "layer_in_init": (
        "torch.nn.GELU",
        """
        from torch import nn
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = ¤nn.GELU()
            def forward(self, x):
                return self.act(x)
        model = Model()
        def mlm_forward(x):
            return model(x)
        """,
    ),
    "module_kept_on_self": (
        F,
        """
        import torch.nn.functional as F
        class Model:
            def __init__(self):
                self.lib = F
            def run(self, x):
                return ¤self.lib.softmax(x)
        mlm_forward = Model().run
        """,
    ),
    "forward_called_by_the_library": (
        F,
        """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x):
                return ¤torch.nn.functional.softmax(x)
        def mlm_forward(x):
            return Model()(x)
        """,
    ),
    "subclass": (
        "torch.nn.LayerNorm",
        """
        from torch import nn
        class Mine(¤nn.LayerNorm):
            pass
        def mlm_forward(x):
            return Mine(3)(x)
        """,
    ),
    "inherited_method": (
        F,
        """
        import torch
        class Base:
            def weights(self, x):
                return ¤torch.nn.functional.softmax(x)
        class Model(Base):
            def run(self, x):
                return self.weights(x)
        mlm_forward = Model().run
        """,
    ),
    "property": (
        T,
        """
        import torch
        class A:
            @property
            def f(self):
                return ¤torch.softmax
        def mlm_forward(x):
            return A().f(x)
        """,
    ),
    "callable_instance": (
        T,
        """
        import torch
        class Model:
            def __call__(self, x):
                return ¤torch.softmax(x, -1)
        mlm_forward = Model()
        """,
    ),
    "lambda_entry": (
        T,
        """
        import torch
        mlm_forward = lambda x: ¤torch.softmax(x, -1)
        """,
    ),
    "alias_of_a_function": (
        T,
        """
        import torch
        def forward(x):
            return ¤torch.softmax(x, -1)
        mlm_forward = forward
        """,
    ),
    "entry_is_the_helper": (
        T,
        """
        from torch import ¤softmax as mlm_forward
        """,
    ),
    "partial": (
        T,
        """
        import functools, torch
        g = functools.partial(¤torch.softmax, dim=-1)
        def mlm_forward(x):
            return g(x)
        """,
    ),
    "partial_entry": (
        T,
        """
        from functools import partial
        import torch
        def forward(act, x):
            return act(x)
        mlm_forward = partial(forward, ¤torch.softmax)
        """,
    ),
    "default_argument": (
        T,
        """
        import torch
        def h(x, f=¤torch.softmax):
            return f(x, -1)
        def mlm_forward(x):
            return h(x)
        """,
    ),
    "keyword_only_default": (
        T,
        """
        import torch
        def mlm_forward(x, *, f=¤torch.softmax):
            return f(x, -1)
        """,
    ),
    "lambda_default": (
        T,
        """
        import torch
        mlm_forward = lambda x, f=¤torch.softmax: f(x)
        """,
    ),
    "decorator": (
        "torch.nn.functional.gelu",
        """
        import torch.nn.functional as F
        def after(f):
            return lambda x: ¤F.gelu(f(x))
        @after
        def mlm_forward(x):
            return x
        """,
    ),
    "banned_decorator": (
        "torch.nn.functional.gelu",
        """
        import torch.nn.functional as F
        @¤F.gelu
        def mlm_forward(x):
            return x
        """,
    ),
    "lambda_inside": (
        T,
        """
        import torch
        def mlm_forward(x):
            return (lambda z: ¤torch.softmax(z, -1))(x)
        """,
    ),
    "lambda_gets_the_library": (
        "torch.nn.GELU",
        """
        import torch
        def mlm_forward(x):
            return (lambda lib: ¤lib.nn.GELU())(torch)(x)
        """,
    ),
    "star_import": (
        F,
        """
        from torch.nn.functional import *
        def mlm_forward(x):
            return ¤softmax(x, -1)
        """,
    ),
    "star_import_after_the_own_function": (
        F,
        """
        def softmax(x, d):
            return x
        from torch.nn.functional import *
        def mlm_forward(x):
            return ¤softmax(x, -1)
        """,
    ),
    "import_module": (
        F,
        """
        import importlib
        def mlm_forward(x):
            return ¤importlib.import_module("torch.nn.functional").softmax(x, -1)
        """,
    ),
    "import_module_relative": (
        F,
        """
        from importlib import import_module
        F = import_module(".functional", "torch.nn")
        def mlm_forward(x):
            return ¤F.softmax(x, -1)
        """,
    ),
    "dunder_import": (
        T,
        """
        def mlm_forward(x):
            return ¤__import__("torch").softmax(x, -1)
        """,
    ),
    "dunder_import_gives_the_root": (
        F,
        """
        def mlm_forward(x):
            return ¤__import__("torch.nn.functional").nn.functional.softmax(x, -1)
        """,
    ),
    "dunder_import_with_fromlist": (
        F,
        """
        def mlm_forward(x):
            return ¤__import__("torch.nn.functional", fromlist=["x"]).softmax(x, -1)
        """,
    ),
    "sys_modules": (
        T,
        """
        import sys, torch
        def mlm_forward(x):
            return ¤sys.modules["torch"].softmax(x, -1)
        """,
    ),
    "sys_modules_get": (
        F,
        """
        from sys import modules as m
        import torch
        def mlm_forward(x):
            return ¤m.get("torch.nn.functional").softmax(x, -1)
        """,
    ),
    "attrgetter": (
        T,
        """
        import operator, torch
        def mlm_forward(x):
            return ¤operator.attrgetter("softmax")(torch)(x, -1)
        """,
    ),
    "attrgetter_dotted": (
        "torch.nn.functional.gelu",
        """
        from operator import attrgetter as ag
        import torch
        g = ¤ag("nn.functional.gelu")(torch)
        def mlm_forward(x):
            return g(x)
        """,
    ),
    "methodcaller": (
        "torch.Tensor.softmax",
        """
        import operator, torch
        def mlm_forward(x):
            return ¤operator.methodcaller("softmax", -1)(torch.tensor(x))
        """,
    ),
    "getattr_of_a_sum": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤getattr(torch, "soft" + "max")(x, -1)
        """,
    ),
    "getattr_alias": (
        T,
        """
        import torch
        look = getattr
        def mlm_forward(x):
            return ¤look(torch, "softmax")(x, -1)
        """,
    ),
    "getattr_nested": (
        "torch.nn.functional.gelu",
        """
        import torch
        def mlm_forward(x):
            return ¤getattr(getattr(torch.nn, "functional"), "gelu")(x)
        """,
    ),
    "getattr_helper_function": (
        T,
        """
        import torch
        def pick(lib, name):
            return ¤getattr(lib, name)
        def mlm_forward(x):
            return pick(torch, "softmax")(x, -1)
        """,
    ),
    "getattr_loop": (
        T,
        """
        import torch
        def mlm_forward(x):
            for name in ("exp", "softmax"):
                x = ¤getattr(torch, name)(x)
            return x
        """,
    ),
    "getattr_partial": (
        T,
        """
        import functools, torch
        look = functools.partial(getattr, torch)
        def mlm_forward(x):
            return ¤look("softmax")(x, -1)
        """,
    ),
    "getattribute": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤torch.__getattribute__("softmax")(x, -1)
        """,
    ),
    "object_getattribute": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤object.__getattribute__(torch, "softmax")(x, -1)
        """,
    ),
    "reduce_getattr": (
        "torch.nn.functional.gelu",
        """
        import functools, torch
        def mlm_forward(x):
            return ¤functools.reduce(getattr, ["nn", "functional", "gelu"], torch)(x)
        """,
    ),
    "resolve_name": (
        F,
        """
        import pkgutil
        f = ¤pkgutil.resolve_name("torch.nn.functional:softmax")
        def mlm_forward(x):
            return f(x)
        """,
    ),
    "vars": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤vars(torch)["softmax"](x, -1)
        """,
    ),
    "vars_by_name": (
        T,
        """
        import torch
        names = vars(torch)
        def mlm_forward(x):
            return ¤names["softmax"](x, -1)
        """,
    ),
    "dunder_dict": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤torch.__dict__["softmax"](x, -1)
        """,
    ),
    "itemgetter": (
        T,
        """
        import operator, torch
        def mlm_forward(x):
            return ¤operator.itemgetter("softmax")(vars(torch))(x)
        """,
    ),
    "globals_of_a_library_function": (
        F,
        """
        import torch.nn.functional as F
        def mlm_forward(x):
            return ¤F.linear.__globals__["softmax"](x, -1)
        """,
    ),
    "compiled": (
        T,
        """
        import torch
        g = torch.compile(¤torch.softmax)
        def mlm_forward(x):
            return g(x, -1)
        """,
    ),
    "vmapped": (
        T,
        """
        import torch
        def mlm_forward(x):
            return torch.vmap(lambda row: ¤torch.softmax(row, 0))(x)
        """,
    ),
    "jitted_by_decorator": (
        "jax.nn.gelu",
        """
        import jax
        @jax.jit
        def mlm_forward(x):
            return ¤jax.nn.gelu(x)
        """,
    ),
    "method_of_an_unknown_array": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            return x.¤softmax(-1)
        """,
    ),
    "method_of_a_product": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(q, k):
            return (torch.tensor(q) @ torch.tensor(k)).¤softmax(-1)
        """,
    ),
    "method_over_two_lines": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(q, k):
            return (
                torch.tensor(q)
                .matmul(k)
                .¤softmax(-1)
            )
        """,
    ),
    "method_of_a_tensor_beside_an_own_method_of_that_name": (
        "torch.Tensor.softmax",
        """
        import torch
        class Decoy:
            def softmax(self):
                return 0
        def mlm_forward(x):
            return torch.from_numpy(x).¤softmax(-1)
        """,
    ),
    "method_by_its_class": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.Tensor.softmax(torch.tensor(x), -1)
        """,
    ),
    "method_by_type": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            t = torch.tensor(x)
            return type(t).¤softmax(t, -1)
        """,
    ),
    "method_by_getattr": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            t = torch.tensor(x)
            return ¤getattr(t, "softmax")(-1)
        """,
    ),
    "method_of_an_inherited_tensor": (
        "torch.Tensor.softmax",
        """
        import torch
        class Mine(torch.Tensor):
            def weights(self):
                return self.¤softmax(-1)
        def mlm_forward(x):
            return Mine(x).weights()
        """,
    ),
    "argument_of_an_own_function": (
        T,
        """
        import torch
        def apply(f, x):
            return f(x, -1)
        def mlm_forward(x):
            return apply(¤torch.softmax, x)
        """,
    ),
    "map": (
        T,
        """
        import torch
        def mlm_forward(x):
            return list(map(¤torch.softmax, x))
        """,
    ),
    "globals_assignment": (
        T,
        """
        import torch
        globals()["act"] = ¤torch.softmax
        def mlm_forward(x):
            return act(x, -1)
        """,
    ),
    "globals_update": (
        T,
        """
        import torch
        globals().update(act=¤torch.softmax)
        def mlm_forward(x):
            return act(x, -1)
        """,
    ),
    "globals_read": (
        T,
        """
        import torch
        def hidden(x):
            return ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return globals()["hid" + "den"](x)
        """,
    ),
    "own_module_attribute": (
        T,
        """
        import sys, torch
        sys.modules[__name__].act = ¤torch.softmax
        def mlm_forward(x):
            return act(x, -1)
        """,
    ),
    "setattr_on_own_module": (
        T,
        """
        import sys, torch
        setattr(sys.modules[__name__], "act", ¤torch.softmax)
        def mlm_forward(x):
            return act(x, -1)
        """,
    ),
    "builtins_patched": (
        T,
        """
        import builtins, torch
        builtins.act = ¤torch.softmax
        def mlm_forward(x):
            return act(x, -1)
        """,
    ),
    "try_import_else_own": (
        "scipy.special.softmax",
        """
        try:
            from scipy.special import softmax
        except ImportError:
            def softmax(x):
                return x
        def mlm_forward(x):
            return ¤softmax(x)
        """,
    ),
    "conditional_binding": (
        T,
        """
        import torch
        def own(x):
            return x
        if torch.cuda.is_available():
            act = ¤torch.softmax
        else:
            act = own
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "conditional_expression": (
        T,
        """
        import torch
        def mlm_forward(x, fast=False):
            return (¤torch.softmax if fast else torch.exp)(x)
        """,
    ),
    "or_expression": (
        T,
        """
        import torch
        def mlm_forward(x, act=None):
            act = act or ¤torch.softmax
            return act(x)
        """,
    ),
    "else_of_the_main_guard": (
        T,
        """
        import torch
        if __name__ == "__main__":
            act = torch.exp
        else:
            act = ¤torch.softmax
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "monkeypatched_library": (
        T,
        """
        import numpy as np, torch
        np.my = ¤torch.softmax
        def mlm_forward(x):
            return np.my(x)
        """,
    ),
    "monkeypatched_allowed_name": (
        T,
        """
        import numpy as np, torch
        np.exp = ¤torch.softmax
        def mlm_forward(x):
            return np.exp(x)
        """,
    ),
    "attribute_of_a_function": (
        T,
        """
        import torch
        def mlm_forward(x):
            return mlm_forward.act(x)
        mlm_forward.act = ¤torch.softmax
        """,
    ),
    "setattr_on_an_object": (
        T,
        """
        import torch
        class A: pass
        a = A()
        setattr(a, "f", ¤torch.softmax)
        def mlm_forward(x):
            return a.f(x)
        """,
    ),
    "own_dict_of_attributes": (
        T,
        """
        import torch
        class A: pass
        a = A()
        a.__dict__["f"] = ¤torch.softmax
        def mlm_forward(x):
            return a.f(x)
        """,
    ),
    "simple_namespace": (
        T,
        """
        import torch, types
        ns = types.SimpleNamespace(f=¤torch.softmax)
        def mlm_forward(x):
            return ns.f(x)
        """,
    ),
    "dataclass_default": (
        T,
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class Config:
            act: object = ¤torch.softmax
        def mlm_forward(x):
            return Config().act(x)
        """,
    ),
    "enum_member": (
        T,
        """
        import enum, torch
        class Act(enum.Enum):
            S = (¤torch.softmax,)
        def mlm_forward(x):
            return Act["S"].value[0](x)
        """,
    ),
    "named_tuple_default": (
        T,
        """
        import torch
        from typing import NamedTuple
        class Ops(NamedTuple):
            act: object = ¤torch.softmax
        def mlm_forward(x):
            return Ops()[0](x)
        """,
    ),
    "returned_by_an_own_function": (
        T,
        """
        import torch
        def act():
            return ¤torch.softmax
        def mlm_forward(x):
            return act()(x, -1)
        """,
    ),
    "library_returned_by_an_own_function": (
        "torch.nn.GELU",
        """
        def lib():
            import torch
            return torch
        def mlm_forward(x):
            return ¤lib().nn.GELU()(x)
        """,
    ),
    "nested_function": (
        T,
        """
        import torch
        def mlm_forward(x):
            def inner(z):
                return ¤torch.softmax(z, -1)
            return inner(x)
        """,
    ),
    "closure_factory": (
        T,
        """
        import torch
        def make():
            def inner(z):
                return ¤torch.softmax(z, -1)
            return inner
        mlm_forward = make()
        """,
    ),
    "generator": (
        T,
        """
        import torch
        def rows(x):
            for row in x:
                yield ¤torch.softmax(row, -1)
        def mlm_forward(x):
            return list(rows(x))
        """,
    ),
    "comprehension": (
        T,
        """
        import torch
        def mlm_forward(x):
            return [¤torch.softmax(row, -1) for row in x]
        """,
    ),
    "with_statement": (
        F,
        """
        import contextlib, torch.nn.functional as F
        def mlm_forward(x):
            with contextlib.nullcontext(F) as lib:
                return ¤lib.softmax(x)
        """,
    ),
    "match_statement": (
        T,
        """
        import torch
        def mlm_forward(x):
            match torch:
                case lib:
                    return ¤lib.softmax(x)
        """,
    ),
    "dynamic_class": (
        "torch.nn.LayerNorm",
        """
        from torch import nn
        Mine = type("Mine", (¤nn.LayerNorm,), {})
        def mlm_forward(x):
            return Mine(3)(x)
        """,
    ),
    "metaclass_argument": (
        "torch.nn.LayerNorm",
        """
        from torch import nn
        class Mine(object, base=¤nn.LayerNorm):
            def __init_subclass__(cls, base):
                pass
        def mlm_forward(x):
            return Mine()
        """,
    ),
    "operator_namespace": (
        "torch.ops.aten.gelu",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.ops.aten.gelu(x)
        """,
    ),
    "operator_by_text": (
        "torch.ops.aten.gelu",
        """
        import torch
        def mlm_forward(x):
            return ¤getattr(torch.ops.aten, "ge" "lu")(x)
        """,
    ),
    "private_namespace": (
        "torch._C._nn.gelu",
        """
        import torch
        def mlm_forward(x):
            return ¤torch._C._nn.gelu(x)
        """,
    ),
    "library_seen_through_another_module": (
        "helpers.torch.softmax",
        """
        import helpers
        def mlm_forward(x):
            return ¤helpers.torch.softmax(x)
        """,
    ),
    "dunder_call": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤torch.softmax.__call__(x, -1)
        """,
    ),
    "forward_of_a_layer_class": (
        "torch.nn.LayerNorm",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.nn.LayerNorm.forward(x)
        """,
    ),
    "helper_named_by_a_keyword": (
        "torch.nn.RNN(nonlinearity='relu')",
        """
        import torch
        layer = torch.nn.RNN(3, 3, nonlinearity=¤"relu")
        def mlm_forward(x):
            return layer(x)
        """,
    ),
    "module_level_result": (
        T,
        """
        import torch
        table = ¤torch.softmax(torch.zeros(3), 0)
        def mlm_forward(x):
            return x * table
        """,
    ),
    "module_level_result_of_an_own_function": (
        T,
        """
        import torch
        def make_table():
            return ¤torch.softmax(torch.zeros(3), 0)
        table = make_table()
        def mlm_forward(x):
            return x * table
        """,
    ),
    "module_level_cache": (
        T,
        """
        import torch
        cache = {}
        def fill():
            for n in range(9):
                cache[n] = ¤torch.softmax(torch.zeros(n), 0)
        fill()
        def mlm_forward(x):
            return cache[len(x)]
        """,
    ),
    "name_in_another_alphabet": (
        T,
        """
        import torch
        def mlm_forward(x):
            return ¤torch.𝓈oftmax(x, -1)
        """,
    ),
    "column_counts_characters": (
        T,
        """
        import torch
        def mlm_forward(x):
            é = "ñandú ∑"; return ¤torch.softmax(x, -1), é
        """,
    ),
    "inside_an_fstring": (
        T,
        """
        import torch
        def mlm_forward(x):
            print(f"sum: {torch.softmax(x, -1)}")
        """,
    ),
    "async_entry": (
        T,
        """
        import torch
        async def mlm_forward(x):
            return ¤torch.softmax(x, -1)
        """,
    ),
    "del_and_bind_again": (
        T,
        """
        import torch
        act = torch.exp
        del act
        act = ¤torch.softmax
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "rebound_in_a_loop": (
        T,
        """
        import torch
        def mlm_forward(x):
            act = torch.exp
            for _ in range(2):
                x = act(x)
                act = ¤torch.softmax
            return x
        """,
    ),
    "module_getattr_hook": (
        T,
        """
        import torch
        def __getattr__(name):
            return lambda x: ¤torch.softmax(x, -1)
        """,
    ),
    "entry_made_in_globals": (
        T,
        """
        import torch
        def forward(x):
            return ¤torch.softmax(x, -1)
        globals()["mlm_forward"] = forward
        """,
    ),
    "star_args": (
        T,
        """
        import torch
        args = (¤torch.softmax,)
        def run(f, x):
            return f(x)
        def mlm_forward(x):
            return run(*args, x)
        """,
    ),
    "class_attribute_named_like_the_import": (
        T,
        """
        from torch import softmax
        class A:
            softmax = ¤softmax
        def mlm_forward(x):
            return A.softmax(x)
        """,
    ),
    "own_getattr_of_the_module_read_from_outside": (
        T,
        """
        import torch
        def __getattr__(name):
            return ¤torch.softmax
        def mlm_forward(x):
            import solution
            return solution.act(x)
        """,
    ),
    "locals_by_text": (
        T,
        """
        def mlm_forward(x):
            from torch import ¤softmax
            return locals()["softmax"](x)
        """,
    ),
    "patched_defaults": (
        T,
        """
        import torch
        def mlm_forward(x, f=None):
            return f(x)
        mlm_forward.__defaults__ = (¤torch.softmax,)
        """,
    ),
    "patched_forward": (
        T,
        """
        import torch
        class Model(torch.nn.Module):
            pass
        Model.forward = lambda self, x: ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return Model()(x)
        """,
    ),
    "patched_call": (
        T,
        """
        import torch
        class Model:
            pass
        Model.__call__ = lambda self, x: ¤torch.softmax(x, -1)
        mlm_forward = Model()
        """,
    ),
    "setattr_on_a_library": (
        T,
        """
        import numpy as np, torch
        setattr(np, "e" + "xp", ¤torch.softmax)
        def mlm_forward(x):
            return np.exp(x)
        """,
    ),
    "setattr_under_an_unknown_name": (
        T,
        """
        import numpy as np, torch
        setattr(np, input(), ¤torch.softmax)
        def mlm_forward(x):
            return np.exp(x)
        """,
    ),
    "namespace_of_a_library_updated": (
        T,
        """
        import numpy as np, torch
        np.__dict__.update(exp=¤torch.softmax)
        def mlm_forward(x):
            return np.exp(x)
        """,
    ),
    "walrus_at_module_level": (
        T,
        """
        import torch
        if (act := ¤torch.softmax) is None:
            raise SystemExit
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "match_at_module_level": (
        T,
        """
        import torch
        match ¤torch.softmax:
            case act:
                pass
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "namespace_of_a_tensor_class": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.Tensor.__dict__["softmax"](x, -1)
        """,
    ),
    "namespace_of_a_type": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            return ¤type(torch.tensor(x)).__dict__["softmax"](x, -1)
        """,
    ),
    "starred_call_of_a_container": (
        T,
        """
        import functools, torch
        steps = [torch.exp, ¤torch.softmax]
        def mlm_forward(x):
            return functools.reduce(lambda y, f: f(y), steps, x)
        """,
    ),
    "method_of_a_loop_variable": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(rows):
            return [row.¤softmax(-1) for row in torch.tensor(rows)]
        """,
    ),
    "method_of_what_an_own_function_returns": (
        "torch.Tensor.softmax",
        """
        import torch
        class Decoy:
            softmax = None
        def scores(q, k):
            return torch.tensor(q) @ torch.tensor(k)
        def mlm_forward(q, k):
            return scores(q, k).¤softmax(-1)
        """,
    ),
    "method_of_an_argument_of_an_own_function": (
        "torch.Tensor.softmax",
        """
        import torch
        class Decoy:
            softmax = None
        def weights(s):
            return s.¤softmax(-1)
        def mlm_forward(x):
            return weights(torch.tensor(x))
        """,
    ),
    "library_as_a_default": (
        "torch.nn.GELU",
        """
        import torch
        def act(x, lib=torch):
            return ¤lib.nn.GELU()(x)
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "library_as_a_keyword_argument": (
        "torch.nn.GELU",
        """
        import torch
        def act(x, *, lib):
            return ¤lib.nn.GELU()(x)
        def mlm_forward(x):
            return act(x, lib=torch)
        """,
    ),
    "library_given_to_a_constructor": (
        "torch.nn.GELU",
        """
        import torch
        class Model:
            def __init__(self, lib):
                self.lib = lib
            def __call__(self, x):
                return ¤self.lib.nn.GELU()(x)
        mlm_forward = Model(torch)
        """,
    ),
    "library_popped_from_a_list": (
        "torch.nn.GELU",
        """
        import torch
        libs = []
        libs.append(torch)
        def mlm_forward(x):
            return ¤libs[0].nn.GELU()(x)
        """,
    ),
    "library_in_a_nested_container": (
        "torch.nn.GELU",
        """
        import torch
        libs = {"a": [("b", torch)]}
        def mlm_forward(x):
            return ¤libs["a"][0][1].nn.GELU()(x)
        """,
    ),
    "library_by_next": (
        "torch.nn.GELU",
        """
        import torch
        def mlm_forward(x):
            return ¤next(iter([torch])).nn.GELU()(x)
        """,
    ),
    "library_by_nonlocal": (
        "torch.nn.GELU",
        """
        def mlm_forward(x):
            lib = None
            def load():
                nonlocal lib
                import torch as lib
            load()
            return ¤lib.nn.GELU()(x)
        """,
    ),
    "library_by_try": (
        "torch.nn.GELU",
        """
        try:
            import torch as lib
        except ImportError:
            lib = None
        def mlm_forward(x):
            return ¤lib.nn.GELU()(x)
        """,
    ),
    "globals_under_an_unknown_name": (
        T,
        """
        import torch
        globals()[input()] = ¤torch.softmax
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "container_made_from_itself": (
        "torch.nn.GELU",
        """
        import torch
        def mlm_forward(x):
            libs, table = [], {}
            for _ in x:
                libs = [*libs, torch]
                table = {**table, "t": torch}
            return ¤libs[-1].nn.GELU()(x), ¤table["t"].nn.GELU()(x)
        """,
    ),
    "container_that_holds_itself": (
        T,
        """
        import torch
        a = [torch]
        a = [a, list(a), a + [a]]
        a.append(a)
        def mlm_forward(x):
            for lib in zip(a):
                return ¤lib[0].softmax(x)
        """,
    ),
    "with_block_may_stop_early": (
        T,
        """
        import contextlib, torch
        act = ¤torch.softmax
        with contextlib.suppress(Exception):
            raise ValueError
            act = torch.exp
        with contextlib.suppress(Exception):
            open("missing")
            act = torch.exp
        def mlm_forward(x):
            return act(x)
        """,
    ),
    "long_chain_of_assignments": (
        F,
        "import torch.nn.functional as a0\n"
        + "".join(f"a{i + 1} = a{i}\n" for i in range(300))
        + "def mlm_forward(x):\n    return ¤a300.softmax(x)\n",
    ),
    "names_that_depend_on_each_other": (
        T,
        """
        import torch
        def mlm_forward(x):
            a = b = None
            while x:
                a = b or a
                b = a or torch
            return ¤a.softmax(x)
        """,
    ),
}


@pytest.mark.parametrize(("helper", "source"), CASES.values(), ids=CASES)
def test_use_is_a_violation_at_its_place(helper: str, source: str) -> None:
    source, expected = marked(source)
    found = report(source)
    assert found["syntax_error"] is None
    assert helpers(found["violations"]) == {helper}
    if expected:  # Python 3.11 gives no exact places inside f-strings
        assert places(found["violations"]) == [(helper, *place) for place in expected]
    assert all(entry["found"] == "static" for entry in found["violations"])


SPELLINGS = [
    '"soft" + "max"',
    '"soft" "max"',
    "f\"soft{'max'}\"",
    "f\"{'soft'!s}{'max':s}\"",
    '"".join(["so", "ft", "max"])',
    '"".join(("so", "ft", "max"))',
    '"%s%s" % ("soft", "max")',
    '"%smax" % "soft"',
    '"{}{}".format("soft", "max")',
    '"{a}{b}".format(a="soft", b="max")',
    '"xamtfos"[::-1]',
    '"xxsoftmaxxx"[2:9]',
    '"SOFTMAX".lower()',
    '"softMAX".swapcase().lower()',
    '"s_o_f_t_m_a_x".replace("_", "")',
    '"  softmax ".strip()',
    '"soft-max".replace("-", "")',
    '"exp softmax".split()[1]',
    '"a.softmax".rpartition(".")[2]',
    '"softmax_".removesuffix("_")',
    '"softmax_".rstrip("_")',
    'chr(115) + "oftmax"',
    '"".join(chr(c) for c in [115, 111, 102, 116, 109, 97, 120])',
    '"".join([chr(c + 1) for c in (114, 110, 101, 115, 108, 96, 119)])',
    '"".join(map(chr, [115, 111, 102, 116, 109, 97, 120]))',
    '"".join(map(lambda c: chr(c), [115, 111, 102, 116, 109, 97, 120]))',
    "bytes([115, 111, 102, 116, 109, 97, 120]).decode()",
    'b"softmax".decode("ascii")',
    'str(b"softmax", "ascii")',
    'bytes.fromhex("736f66746d6178").decode()',
    'base64.b64decode("c29mdG1heA==").decode()',
    'codecs.decode("fbsgznk", "rot13")',
    '"".join(reversed("xamtfos"))',
    'str.join("", ["soft", "max"])',
    'str.lower("SOFTMAX")',
    '"soft".__add__("max")',
    '{"a": "softmax"}["a"]',
    '["exp", "softmax"][-1]',
    '("exp", "softmax")[1]',
    '"softmax" if FAST else "exp"',
    '(NAME := "softmax")',
    "PREFIX + SUFFIX",
    'f"{PREFIX}{SUFFIX}"',
    "WHOLE",
    "GROWN",
    "Names.soft",
    "turn('xamtfos')",
    "''.join(c for c in 's.o.f.t.m.a.x' if c != '.')",
    '"softmax".translate({})',
    '"tanh" and "softmax"',
    'sys.intern("softmax")',
    '"\\x73oftmax"',
]

SPELLED = """
import base64, codecs, sys, torch
PREFIX, SUFFIX = "soft", "max"
WHOLE = PREFIX + SUFFIX
GROWN = PREFIX
GROWN += SUFFIX
FAST = True
class Names:
    soft = "softmax"
def turn(text):
    turned = text[::-1]
    return turned
def mlm_forward(x):
    return getattr(torch, {spelling})(x, -1)
"""


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_lookup_is_judged_by_what_it_names(spelling: str) -> None:
    found = report(SPELLED.format(spelling=spelling))
    assert places(found["violations"]) == [(T, 13, 12)]
    assert found["suspicious"] == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_text_worked_out_in_a_local_name_is_judged_the_same(spelling: str) -> None:
    source = SPELLED.format(spelling="name").replace(
        "    return getattr", f"    name = {spelling}\n    return getattr"
    )
    assert helpers(report(source)["violations"]) == {T}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_key_of_a_namespace_is_judged_the_same(spelling: str) -> None:
    source = SPELLED.replace("getattr(torch, {spelling})", "vars(torch)[{spelling}]")
    source = source.format(spelling=spelling)
    assert helpers(report(source)["violations"]) == {T}


def test_message_names_line_helper_and_what_to_write() -> None:
    found = report("import torch\ndef mlm_forward(x):\n    return torch.softmax(x, -1)\n")
    assert [entry["message"] for entry in found["violations"]] == [
        "Line 3 uses torch.softmax, a softmax helper; write it from its formula: exp(s - max) over its sum."
    ]


def test_every_place_is_reported_once_and_in_order() -> None:
    found = report(
        """
        import torch
        from torch import softmax as s
        def mlm_forward(x):
            b = s(x); a = torch.relu(x)
            return torch.softmax(torch.relu(a), -1) + s(b)
        """
    )
    assert places(found["violations"]) == [
        ("torch.softmax", 4, 9),
        ("torch.relu", 4, 19),
        ("torch.softmax", 5, 12),
        ("torch.relu", 5, 26),
        ("torch.softmax", 5, 47),
    ]
    assert found["notes"] == []


@pytest.mark.parametrize(
    "text",
    [
        'exec("import torch\\nresult = torch.softmax(x, -1)")',
        "eval(\"__import__('torch').softmax(x, -1)\")",
        'exec(compile("import torch; torch.softmax(x)", "", "exec"))',
        'exec("import torch; torch.soft" + "max(x)")',
        "exec(\"exec('import torch; torch.softmax(x)')\")",
        "e = eval\n    e(\"__import__('torch').softmax\")(x)",
        'exec("def f(x):\\n    import torch\\n    return torch.softmax(x)")',
        "exec(textwrap.dedent('''\n        import torch\n        torch.softmax(x)\n    '''))",
        'getattr(builtins, "ev" + "al")("__import__(\'torch\').softmax")(x)',
        '__builtins__["eval"]("__import__(\'torch\').softmax")(x)',
    ],
)
def test_helper_in_executed_text_is_a_violation_and_the_text_suspicious(text: str) -> None:
    found = report(f"import builtins, textwrap\ndef mlm_forward(x):\n    {text}\n")
    assert helpers(found["violations"]) == {T}
    assert {entry["line"] for entry in found["violations"]} <= {3, 4}
    assert "dynamic_code" in {entry["rule"] for entry in found["suspicious"]}


def test_names_bound_by_executed_text_are_known_outside_it() -> None:
    found = report(
        """
        exec("from torch import softmax as act")
        def mlm_forward(x):
            return act(x)
        """
    )
    assert ("torch.softmax", 3, 12) in places(found["violations"])


def test_entry_defined_by_executed_text() -> None:
    found = report(
        """
        exec("import torch\\ndef mlm_forward(x):\\n    return torch.softmax(x)")
        """
    )
    assert found["entry"]["defined"]
    assert places(found["violations"]) == [("torch.softmax", 1, 1)]
