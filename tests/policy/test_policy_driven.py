"""What an exercise that asks for several names can reach, or a driver that uses what they give, is found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_samples import DATA, RULES, helpers, marked, places
from test_policy_clean import CLEAN
from test_policy_parts import parts_of
from test_policy_properties import STEPS, check_form, common, roads
from test_policy_violations import CASES as SINGLE

from grader.policy.analysis import analyze
from grader.policy.rules import Rules

ENTRIES = ("CorruptionPolicy", "corrupt_batch")
F = "torch.nn.functional.softmax"
M = "torch.Tensor.softmax"
T = "torch.softmax"


def driven(source: str, entries: Sequence[str] = ENTRIES) -> Any:
    """The report on a source of which a driver uses those names that it has."""
    asked = [name for name in entries if re.search(rf"\b{name}\b", source)]
    found = analyze(source, RULES, asked, driven=True)
    check_form(found)
    return found


CASES: dict[str, tuple[list[str], str]] = {
    "method_that_only_the_driver_calls": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return ¤torch.softmax(x, -1)
        """,
    ),
    "property": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            @property
            def weights(self):
                return ¤torch.softmax(self.x, -1)
        """,
    ),
    "lambda_in_a_class_attribute": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            go = lambda self, x: ¤torch.softmax(x, -1)
        """,
    ),
    "lambda_that_the_class_itself_feeds_a_list": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            go = lambda self, x: x.¤softmax(-1)
            def other(self):
                return self.go([1])
        """,
    ),
    "method_called_on_the_class_with_an_array": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def go(x):
                return x.T.¤softmax(-1)
        """,
    ),
    "method_that_a_test_feeds_a_list": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x.¤softmax(-1)
        def test():
            CorruptionPolicy().go([1, 2])
        """,
    ),
    "object_that_a_function_returns": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x, -1)
        def corrupt_batch(x):
            return Hidden()
        """,
    ),
    "subclass_known_by_a_hook": (
        [T],
        """
        import torch
        class Base:
            kinds = []
            def __init_subclass__(cls):
                Base.kinds.append(cls)
        class Hidden(Base):
            def go(self, x):
                return ¤torch.softmax(x, -1)
        def corrupt_batch(x):
            return Base.kinds[0]()
        """,
    ),
    "subclass_known_by_its_metaclass": (
        [T],
        """
        import torch
        made = []
        class Meta(type):
            def __init__(cls, *rest):
                made.append(cls)
        class Base(metaclass=Meta):
            pass
        class Hidden(Base):
            def go(self, x):
                return ¤torch.softmax(x, -1)
        def corrupt_batch(x):
            return made[-1]()
        """,
    ),
    "class_known_by_its_metaclass": (
        [T],
        """
        import torch
        made = []
        class Meta(type):
            def __init__(cls, *rest):
                made.append(cls)
        class Hidden(metaclass=Meta):
            def go(self, x):
                return ¤torch.softmax(x, -1)
        def corrupt_batch(x):
            return made[-1]()
        """,
    ),
    "class_known_by_a_decorator": (
        [T],
        """
        import torch
        made = []
        def keep(cls):
            made.append(cls)
            return cls
        @keep
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x, -1)
        def corrupt_batch(x):
            return made[-1]()
        """,
    ),
    "setattr_on_the_class": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        setattr(CorruptionPolicy, "go", lambda self, x: ¤torch.softmax(x, -1))
        """,
    ),
    "setattr_on_the_class_in_a_loop": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        for name in ("a", "b"):
            setattr(CorruptionPolicy, name, lambda self, x: ¤torch.softmax(x, -1))
        """,
    ),
    "method_put_into_the_class": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy.go = hidden
        """,
    ),
    "class_made_by_type": (
        [T],
        """
        import torch
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy = type("CorruptionPolicy", (), {"go": hidden})
        """,
    ),
    "nested_class": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            class Inner:
                def go(self, x):
                    return ¤torch.softmax(x, -1)
        """,
    ),
    "base_class": (
        [T],
        """
        import torch
        class Base:
            def go(self, x):
                return ¤torch.softmax(x, -1)
        class CorruptionPolicy(Base):
            pass
        """,
    ),
    "default_factory_of_a_field": (
        [T],
        """
        import torch
        from dataclasses import dataclass, field
        @dataclass
        class CorruptionPolicy:
            op: object = field(default_factory=lambda: ¤torch.softmax)
        """,
    ),
    "post_init_of_a_dataclass": (
        [T],
        """
        import torch
        from dataclasses import dataclass, field
        @dataclass
        class CorruptionPolicy:
            op: int = 0
            def __post_init__(self):
                self.act = ¤torch.softmax
        """,
    ),
    "forward": (
        [M],
        """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def forward(self, x):
                return x.¤softmax(-1)
        """,
    ),
    "submodules": (
        ["torch.nn.GELU", "torch.nn.LayerNorm", "torch.nn.Softmax"],
        """
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = ¤nn.GELU()
                self.n = ¤nn.LayerNorm(3)
                self.s = ¤nn.Softmax(-1)
                self.t = nn.Tanh()
                self.l = nn.Linear(3, 3)
            def forward(self, x):
                return self.s(x)
        """,
    ),
    "global_set_by_a_later_method": (
        [T],
        """
        import torch
        op = None
        class CorruptionPolicy:
            def use(self, x):
                return op(x)
            def prepare(self):
                global op
                op = ¤torch.softmax
        """,
    ),
    "class_attribute_set_by_a_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def prepare(self):
                CorruptionPolicy.op = ¤torch.softmax
        """,
    ),
    "attribute_of_another_class_set_by_a_helper": (
        [T],
        """
        import torch
        class State:
            pass
        def arm():
            State.op = ¤torch.softmax
        class CorruptionPolicy:
            def prepare(self):
                arm()
            def go(self, x):
                return State.op(x)
        """,
    ),
    "decorated_class_in_a_function": (
        [T],
        """
        import torch
        def corrupt_batch(x):
            made = []
            def keep(cls):
                made.append(cls)
            @keep
            class Hidden:
                def go(self, x):
                    return ¤torch.softmax(x, -1)
            return made[0]()
        """,
    ),
    "list_in_a_class_in_a_function": (
        [T],
        """
        import torch
        def corrupt_batch(x):
            class Hidden:
                ops = [¤torch.softmax]
            return Hidden
        """,
    ),
    "function_that_is_returned": (
        [T],
        """
        import torch
        def corrupt_batch(x):
            def inner(y):
                return ¤torch.softmax(y, -1)
            return inner
        """,
    ),
    "returned_function_that_is_fed_a_list": (
        [M],
        """
        import torch
        def corrupt_batch(x):
            def inner(y):
                return y.¤softmax(-1)
            inner([1])
            return inner
        """,
    ),
    "partialmethod": (
        [T],
        """
        import torch, functools
        class CorruptionPolicy:
            def _op(self, f, x):
                return f(x)
            go = functools.partialmethod(_op, ¤torch.softmax)
        """,
    ),
    "property_of_a_lambda": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            weights = property(lambda self: ¤torch.softmax(self.x, -1))
        """,
    ),
    "descriptor": (
        [T],
        """
        import torch
        class Desc:
            def __get__(self, o, t=None):
                return ¤torch.softmax
        class CorruptionPolicy:
            op = Desc()
        """,
    ),
    "getattr_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __getattr__(self, name):
                return ¤torch.softmax
        """,
    ),
    "lookup_by_a_class_attribute": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            name = "soft" + "max"
            def go(self, x):
                return ¤getattr(torch, self.name)(x)
        """,
    ),
    "library_as_a_default_of_init": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __init__(self, lib=torch):
                self.lib = lib
            def go(self, x):
                return ¤self.lib.softmax(x)
        """,
    ),
    "autograd_function": (
        [T],
        """
        import torch
        class Fn(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return ¤torch.softmax(x, -1)
        class CorruptionPolicy:
            def go(self, x):
                return Fn.apply(x)
        """,
    ),
    "subclass_of_tensor": (
        [M],
        """
        import torch
        class CorruptionPolicy(torch.Tensor):
            def go(self):
                return self.¤softmax(-1)
        """,
    ),
    "vars_of_the_class_updated": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        CorruptionPolicy.__dict__
        vars(CorruptionPolicy).update(go=hidden)
        """,
    ),
    "type_setattr": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        type.__setattr__(CorruptionPolicy, "go", hidden)
        """,
    ),
    "decorator_that_puts_another_class_in_its_place": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def replace(cls):
            return Hidden
        @replace
        class CorruptionPolicy:
            pass
        """,
    ),
    "object_in_place_of_the_class": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        CorruptionPolicy = Hidden()
        """,
    ),
    "base_from_a_list": (
        [T],
        """
        import torch
        class A:
            pass
        class B:
            def go(self, x):
                return ¤torch.softmax(x)
        class CorruptionPolicy([A, B][1]):
            pass
        """,
    ),
    "attribute_set_by_a_class_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            @classmethod
            def make(cls):
                cls.op = staticmethod(¤torch.softmax)
        """,
    ),
    "default_of_a_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x, f=¤torch.softmax):
                return f(x)
        """,
    ),
    "library_in_place_of_a_missing_argument": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x, lib=None):
                lib = lib or torch
                return ¤lib.softmax(x)
        """,
    ),
    "forward_hook": (
        [T],
        """
        import torch
        from torch import nn
        def corrupt_batch():
            m = nn.Linear(2, 2)
            m.register_forward_hook(lambda m, i, o: ¤torch.softmax(o, -1))
            return m
        """,
    ),
    "hook_of_all_modules": (
        [T],
        """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            pass
        def hook(m, i, o):
            return ¤torch.softmax(o, -1)
        nn.modules.module.register_module_forward_hook(hook)
        """,
    ),
    "forward_put_into_the_class": (
        [T],
        """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy.forward = hidden
        """,
    ),
    "method_put_into_each_class_of_a_list": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        for cls in [CorruptionPolicy]:
            cls.go = hidden
        """,
    ),
    "method_put_there_by_a_function": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        def attach(cls, f):
            cls.go = f
        attach(CorruptionPolicy, hidden)
        """,
    ),
    "method_put_there_by_a_decorator": (
        [T],
        """
        import torch
        def attach(cls):
            def deco(f):
                setattr(cls, f.__name__, f)
                return f
            return deco
        class CorruptionPolicy:
            pass
        @attach(CorruptionPolicy)
        def go(self, x):
            return ¤torch.softmax(x, -1)
        """,
    ),
    "setattr_by_another_name": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        s = setattr
        s(CorruptionPolicy, "go", hidden)
        """,
    ),
    "setattr_by_map": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        list(map(setattr, [CorruptionPolicy], ["go"], [hidden]))
        """,
    ),
    "setattr_by_partial": (
        [T],
        """
        import torch, functools
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        functools.partial(setattr, CorruptionPolicy)("go", hidden)
        """,
    ),
    "function_in_a_table_of_the_class": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            table = {}
            def go(self, x):
                return self.table["a"](x)
        def hidden(x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy.table["a"] = hidden
        """,
    ),
    "locals_of_the_class_body": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            locals()["go"] = lambda self, x: ¤torch.softmax(x)
        """,
    ),
    "vars_of_the_class_body": (
        [T],
        """
        import torch
        def hidden(self, x):
            return ¤torch.softmax(x)
        class CorruptionPolicy:
            vars()["g" + "o"] = hidden
        """,
    ),
    "loop_in_the_class_body": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            for f in [¤torch.softmax]:
                go = f
        """,
    ),
    "prepare_of_a_metaclass": (
        [T],
        """
        import torch
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Meta(type):
            @classmethod
            def __prepare__(m, *a):
                return {"go": hidden}
        class CorruptionPolicy(metaclass=Meta):
            pass
        """,
    ),
    "new_of_a_metaclass": (
        [T],
        """
        import torch
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Meta(type):
            def __new__(m, name, bases, ns):
                ns["go"] = hidden
                return super().__new__(m, name, bases, ns)
        class CorruptionPolicy(metaclass=Meta):
            pass
        """,
    ),
    "mro_entries": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        class Sub:
            def __mro_entries__(self, bases):
                return (Hidden,)
        class CorruptionPolicy(Sub()):
            pass
        """,
    ),
    "bases_that_are_replaced": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        class O:
            pass
        class CorruptionPolicy(O):
            pass
        CorruptionPolicy.__bases__ = (Hidden,)
        """,
    ),
    "class_of_an_object_that_is_replaced": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        class CorruptionPolicy:
            def __init__(self):
                pass
        p = CorruptionPolicy()
        p.__class__ = Hidden
        def corrupt_batch():
            return p
        """,
    ),
    "types_new_class": (
        [T],
        """
        import torch, types
        def hidden(self, x):
            return ¤torch.softmax(x)
        CorruptionPolicy = types.new_class("CorruptionPolicy", (), {}, lambda ns: ns.update(go=hidden))
        """,
    ),
    "import_in_the_class_body": (
        [T],
        """
        class CorruptionPolicy:
            from torch import ¤softmax as go
        """,
    ),
    "library_class_imported_as_the_entry": (
        ["torch.nn.LayerNorm"],
        """
        from torch.nn import ¤LayerNorm as CorruptionPolicy
        """,
    ),
    "subclass_of_a_banned_layer": (
        ["torch.nn.LayerNorm"],
        """
        from torch import nn
        class CorruptionPolicy(¤nn.LayerNorm):
            pass
        """,
    ),
    "match_statement": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                match x:
                    case torch.Tensor():
                        return x.¤softmax(-1)
        """,
    ),
    "generator": (
        [T],
        """
        import torch
        def corrupt_batch(xs):
            for x in xs:
                yield ¤torch.softmax(x, -1)
        """,
    ),
    "context_manager": (
        [T],
        """
        import torch, contextlib
        class CorruptionPolicy:
            @contextlib.contextmanager
            def step(self):
                yield ¤torch.softmax
        """,
    ),
    "singledispatchmethod": (
        [T],
        """
        import torch, functools
        class CorruptionPolicy:
            @functools.singledispatchmethod
            def go(self, x):
                return x
            @go.register
            def _(self, x:
                int): return ¤torch.softmax(x)
        """,
    ),
    "setter": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            @property
            def x(self):
                return self._x
            @x.setter
            def x(self, v):
                self._x = ¤torch.softmax(v, -1)
        """,
    ),
    "cached_property": (
        [T],
        """
        import torch, functools
        class CorruptionPolicy:
            @functools.cached_property
            def x(self):
                return ¤torch.softmax(self.y, -1)
        """,
    ),
    "mixin_that_calls_super": (
        [T],
        """
        import torch
        class Base:
            def go(self, x):
                return x
        class Mixin(Base):
            def go(self, x):
                return ¤torch.softmax(super().go(x))
        class CorruptionPolicy(Mixin):
            pass
        """,
    ),
    "helper_function_of_a_method": (
        [F],
        """
        import torch.nn.functional as F
        def weights(x):
            return ¤F.softmax(x, -1)
        class CorruptionPolicy:
            def go(self, x):
                return weights(x)
        """,
    ),
    "library_as_an_argument": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def _use(self, lib, x):
                return ¤lib.softmax(x)
            def go(self, x):
                return self._use(torch, x)
        """,
    ),
    "function_as_a_method_that_a_demo_feeds_a_list": (
        [M],
        """
        import torch
        def helper(x):
            return x.¤softmax(-1)
        class CorruptionPolicy:
            go = helper
        def demo():
            helper([1])
        """,
    ),
    "function_as_a_static_method_that_a_demo_feeds_a_list": (
        [M],
        """
        import torch
        def helper(x):
            return x.¤softmax(-1)
        class CorruptionPolicy:
            go = staticmethod(helper)
        def demo():
            helper([1])
        """,
    ),
    "function_in_a_returned_dictionary": (
        [M],
        """
        import torch
        def helper(x):
            return x.¤softmax(-1)
        helper([1])
        def corrupt_batch():
            return {"go": helper}
        """,
    ),
    "lambda_that_is_returned": (
        [M],
        """
        import torch
        go = lambda x: x.¤softmax(-1)
        go([1])
        def corrupt_batch():
            return go
        """,
    ),
    "helper_given_to_an_object_at_import": (
        [T],
        """
        import torch
        class Box:
            def __init__(self, f):
                self.f = f
        box = Box(¤torch.softmax)
        def corrupt_batch():
            return box
        """,
    ),
    "helper_added_to_an_object_at_import": (
        [T],
        """
        import torch
        class Box:
            def __init__(self):
                self.fs = []
            def add(self, f):
                self.fs.append(f)
        box = Box()
        box.add(¤torch.softmax)
        def corrupt_batch():
            return box
        """,
    ),
    "starred_bases": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        bases = (Hidden,)
        class CorruptionPolicy(*bases):
            pass
        """,
    ),
    "class_registered_by_a_method": (
        [T],
        """
        import torch
        class Registry:
            def __init__(self):
                self.items = []
            def register(self, cls):
                self.items.append(cls)
                return cls
        registry = Registry()
        @registry.register
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            return registry.items[0]()
        """,
    ),
    "class_registered_by_a_method_under_a_name": (
        [T],
        """
        import torch
        class Registry:
            def __init__(self):
                self.items = {}
            def register(self, name):
                def keep(cls):
                    self.items[name] = cls
                    return cls
                return keep
        registry = Registry()
        @registry.register("a")
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            return registry.items["a"]()
        """,
    ),
    "global_set_at_import": (
        [T],
        """
        import torch
        op = None
        def set_op(f):
            global op
            op = f
        set_op(¤torch.softmax)
        class CorruptionPolicy:
            def go(self, x):
                return op(x)
        """,
    ),
    "global_set_at_import_by_a_function_in_use": (
        [T],
        """
        import torch
        op = None
        def set_op(f):
            global op
            op = f
        set_op(¤torch.softmax)
        class CorruptionPolicy:
            def go(self, x):
                return op(x)
            def set(self, f):
                set_op(f)
        """,
    ),
    "class_extended_at_import_by_its_own_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            op = None
            @classmethod
            def extend(cls, f):
                cls.op = f
            def go(self, x):
                return self.op(x)
        def hidden(x):
            return ¤torch.softmax(x)
        CorruptionPolicy.extend(hidden)
        """,
    ),
    "object_in_returned_containers": (
        [T],
        """
        import torch
        def corrupt_batch(name="exp"):
            class Inner:
                def go(self, x):
                    return ¤torch.softmax(x)
            return {"a": [Inner()]}
        """,
    ),
    "table_of_classes": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        KINDS = {"a": Hidden}
        def corrupt_batch():
            return KINDS["a"]()
        """,
    ),
    "named_tuple": (
        [T],
        """
        import torch, typing
        class Hidden(typing.NamedTuple):
            op: object = ¤torch.softmax
        def corrupt_batch():
            return Hidden()
        """,
    ),
    "namedtuple_defaults": (
        [T],
        """
        import torch, collections
        Hidden = collections.namedtuple("Hidden", "op", defaults=[¤torch.softmax])
        def corrupt_batch():
            return Hidden()
        """,
    ),
    "enumeration": (
        [T],
        """
        import torch, enum
        class Kind(enum.Enum):
            A = enum.member(¤torch.softmax)
        def corrupt_batch():
            return Kind
        """,
    ),
    "make_dataclass": (
        [T],
        """
        import torch, dataclasses
        members = {"go": lambda self, x: ¤torch.softmax(x)}
        CorruptionPolicy = dataclasses.make_dataclass("CorruptionPolicy", [], namespace=members)
        """,
    ),
    "total_ordering": (
        [T],
        """
        import torch, functools
        @functools.total_ordering
        class CorruptionPolicy:
            def __lt__(self, o):
                return ¤torch.softmax(o)
            def __eq__(self, o):
                return True
        """,
    ),
    "property_put_into_the_class": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self):
            return ¤torch.softmax(self.x)
        CorruptionPolicy.x = property(hidden)
        """,
    ),
    "two_targets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x
        def hidden(self, x):
            return ¤torch.softmax(x)
        CorruptionPolicy.go, CorruptionPolicy.other = hidden, None
        """,
    ),
    "target_of_a_loop": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        for CorruptionPolicy.go in [hidden]:
            pass
        """,
    ),
    "walrus": (
        [T],
        """
        import torch
        (CorruptionPolicy := type("P", (), {"go": ¤torch.softmax}))
        """,
    ),
    "list_filled_by_another_method": (
        [T],
        """
        import torch
        fs = []
        class CorruptionPolicy:
            def a(self):
                return fs[0]
            def b(self):
                fs.append(¤torch.softmax)
        """,
    ),
    "nonlocal_set_by_another_method": (
        [T],
        """
        import torch
        def corrupt_batch():
            op = None
            class Inner:
                def go(self, x):
                    return op(x)
                def arm(self):
                    nonlocal op
                    op = ¤torch.softmax
            return Inner()
        """,
    ),
    "call_of_all_modules_replaced": (
        [T],
        """
        import torch
        import torch.nn as nn
        class CorruptionPolicy(nn.Module):
            def forward(self, x):
                return x
        nn.Module.__call__ = lambda self, x: ¤torch.softmax(x)
        """,
    ),
    "keyword_of_a_class": (
        [T],
        """
        import torch
        class Base:
            def __init_subclass__(cls, op=None):
                cls.op = op
        class CorruptionPolicy(Base, op=¤torch.softmax):
            pass
        """,
    ),
    "set_name": (
        [T],
        """
        import torch
        class D:
            def __set_name__(self, owner, name):
                owner.go = hidden
        def hidden(self, x):
            return ¤torch.softmax(x)
        class CorruptionPolicy:
            d = D()
        """,
    ),
    "class_getitem": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __class_getitem__(cls, k):
                return ¤torch.softmax
        """,
    ),
    "subclasses": (
        [T],
        """
        import torch
        class Base:
            pass
        class Hidden(Base):
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            return Base.__subclasses__()[0]()
        """,
    ),
    "decorated_method": (
        [T],
        """
        import torch
        def wrap(f):
            def inner(self, *a):
                return ¤torch.softmax(f(self, *a))
            return inner
        class CorruptionPolicy:
            @wrap
            def go(self, x):
                return x
        """,
    ),
    "class_decorator_that_adds_a_method": (
        [T],
        """
        import torch
        def add(cls):
            def go(self, x):
                return ¤torch.softmax(x)
            cls.go = go
            return cls
        @add
        class CorruptionPolicy:
            pass
        """,
    ),
    "class_decorator_that_adds_methods_by_setattr": (
        [T],
        """
        import torch
        def add(cls):
            for n in ("a", "b"):
                setattr(cls, n, lambda self, x: ¤torch.softmax(x))
            return cls
        @add
        class CorruptionPolicy:
            pass
        """,
    ),
    "nested_class_by_another_name": (
        [T],
        """
        import torch
        class A:
            class B:
                def go(self, x):
                    return ¤torch.softmax(x)
        CorruptionPolicy = A.B
        """,
    ),
    "class_made_by_a_function_that_runs_at_import": (
        [T],
        """
        import torch
        CorruptionPolicy = None
        def make():
            global CorruptionPolicy
            class CorruptionPolicy:
                def go(self, x):
                    return ¤torch.softmax(x)
        make()
        """,
    ),
    "class_in_a_try": (
        [T],
        """
        import torch
        try:
            class CorruptionPolicy:
                def go(self, x):
                    return ¤torch.softmax(x)
        except Exception:
            CorruptionPolicy = None
        """,
    ),
    "sequential": (
        ["torch.nn.Softmax"],
        """
        from torch import nn
        def corrupt_batch():
            return nn.Sequential(nn.Linear(2, 2), ¤nn.Softmax(-1))
        """,
    ),
    "module_list": (
        ["torch.nn.ReLU"],
        """
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(2, 2), ¤nn.ReLU()])
        """,
    ),
    "layer_looked_up_by_its_name": (
        ["torch.nn.GELU"],
        """
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self, act="Tanh"):
                super().__init__()
                self.act = ¤getattr(nn, "GELU")()
        """,
    ),
    "layers_of_a_transformer": (
        ["torch.nn.TransformerEncoder", "torch.nn.TransformerEncoderLayer"],
        """
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = ¤nn.TransformerEncoder(¤nn.TransformerEncoderLayer(4, 2), 1)
        """,
    ),
    "loss_of_a_training_step": (
        ["torch.nn.functional.log_softmax"],
        """
        import torch.nn.functional as F
        class CorruptionPolicy:
            def step(self, batch):
                loss = self.loss(batch)
                loss.backward()
            def loss(self, b):
                return -¤F.log_softmax(b, -1).mean()
        """,
    ),
    "methodcaller": (
        [M],
        """
        import torch, operator
        class CorruptionPolicy:
            go = ¤operator.methodcaller("softmax", -1)
        """,
    ),
    "table_in_a_class_attribute": (
        [T, "torch.relu"],
        """
        import torch
        class CorruptionPolicy:
            ops = {"a": ¤torch.softmax, "b": ¤torch.relu}
            def go(self, x):
                return self.ops["b"](x)
        """,
    ),
    "type_setattr_by_another_name": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        put = type.__setattr__
        put(CorruptionPolicy, "go", hidden)
        """,
    ),
    "setattr_passed_to_a_function": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        def apply(f, *a):
            f(*a)
        apply(setattr, CorruptionPolicy, "go", hidden)
        """,
    ),
    "setattr_with_a_starred_tuple": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        setattr(*(CorruptionPolicy, "go", hidden))
        """,
    ),
    "setattr_with_starred_arguments": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        args = (CorruptionPolicy, "go", hidden)
        setattr(*args)
        """,
    ),
    "setattr_with_starred_arguments_of_a_loop": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        for args in [(CorruptionPolicy, "go", hidden)]:
            setattr(*args)
        """,
    ),
    "setattr_for_each_item": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        for name, f in {"go": hidden}.items():
            setattr(CorruptionPolicy, name, f)
        """,
    ),
    "update_wrapper": (
        [T],
        """
        import torch, functools
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        hidden.go = hidden
        functools.update_wrapper(CorruptionPolicy, hidden)
        """,
    ),
    "class_looked_up_in_the_module": (
        [T],
        """
        import torch, sys
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        getattr(sys.modules[__name__], "CorruptionPolicy").go = hidden
        """,
    ),
    "class_looked_up_in_globals": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        globals()["CorruptionPolicy"].go = hidden
        """,
    ),
    "class_that_a_function_gives": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        def it():
            return CorruptionPolicy
        it().go = hidden
        """,
    ),
    "class_out_of_a_list": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        [CorruptionPolicy][0].go = hidden
        """,
    ),
    "class_of_an_object": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy().__class__.go = hidden
        """,
    ),
    "type_of_an_object": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        type(CorruptionPolicy()).go = hidden
        """,
    ),
    "class_out_of_the_mro": (
        [T],
        """
        import torch
        class Base:
            pass
        class CorruptionPolicy(Base):
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        CorruptionPolicy.__mro__[1].go = hidden
        """,
    ),
    "method_put_into_a_base": (
        [T],
        """
        import torch
        class Base:
            pass
        class CorruptionPolicy(Base):
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        Base.go = hidden
        """,
    ),
    "class_by_two_names": (
        [T],
        """
        import torch
        class A:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x, -1)
        B = A
        B.go = hidden
        CorruptionPolicy = A
        """,
    ),
    "attribute_of_a_returned_object": (
        [T],
        """
        import torch
        class Box:
            pass
        box = Box()
        box.go = ¤torch.softmax
        def corrupt_batch():
            return box
        """,
    ),
    "attribute_of_each_object_of_a_loop": (
        [T],
        """
        import torch
        class Box:
            pass
        class Demo:
            pass
        box = Box()
        demo = Demo()
        for b in (box, demo):
            b.go = ¤torch.softmax
        def corrupt_batch():
            return box
        """,
    ),
    "attribute_of_a_namespace": (
        [T],
        """
        import torch, types
        box = types.SimpleNamespace()
        box.go = ¤torch.softmax
        def corrupt_batch():
            return box
        """,
    ),
    "attribute_of_the_entry": (
        [T],
        """
        import torch
        def corrupt_batch():
            return 1
        corrupt_batch.go = ¤torch.softmax
        """,
    ),
    "attribute_of_a_returned_function": (
        [T],
        """
        import torch
        def helper():
            pass
        helper.go = ¤torch.softmax
        def corrupt_batch():
            return helper
        """,
    ),
    "forward_put_into_a_layer": (
        [T],
        """
        import torch
        from torch import nn
        net = nn.Linear(1, 1)
        net.forward = lambda x: ¤torch.softmax(x)
        def corrupt_batch():
            return net
        """,
    ),
    "bound_method_put_into_a_layer": (
        [T],
        """
        import torch, types
        from torch import nn
        net = nn.Linear(1, 1)
        def hidden(self, x):
            return ¤torch.softmax(x)
        net.forward = types.MethodType(hidden, net)
        def corrupt_batch():
            return net
        """,
    ),
    "call": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __call__(self, x):
                return self.inner(x)
            @staticmethod
            def inner(x):
                return ¤torch.softmax(x)
        """,
    ),
    "coroutine": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            async def go(self, x): return ¤torch.softmax(x)
        """,
    ),
    "private_method": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __go(self, x):
                return ¤torch.softmax(x)
            def go(self, x):
                return self.__go(x)
        """,
    ),
    "missing_of_a_dict": (
        [T],
        """
        import torch
        class CorruptionPolicy(dict):
            def __missing__(self, k):
                return ¤torch.softmax
        """,
    ),
    "run_of_a_thread": (
        [T],
        """
        import torch, threading
        class CorruptionPolicy(threading.Thread):
            def run(self):
                ¤torch.softmax(1)
        """,
    ),
    "getitem_of_a_data_set": (
        [T],
        """
        import torch
        from torch.utils.data import Dataset
        class CorruptionPolicy(Dataset):
            def __getitem__(self, i):
                return ¤torch.softmax(i)
        """,
    ),
    "step_of_an_optimizer": (
        [T],
        """
        import torch
        class CorruptionPolicy(torch.optim.Optimizer):
            def step(self, closure=None):
                ¤torch.softmax(1)
        """,
    ),
    "parametrization": (
        [T],
        """
        import torch
        from torch import nn
        class P(nn.Module):
            def right_inverse(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch(m):
            return nn.utils.parametrize.register_parametrization(m, "w", P())
        """,
    ),
    "method_called_on_an_array": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def other(self):
                return self.T.¤softmax(-1)
        """,
    ),
    "attribute_that_holds_an_array": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def __init__(self, x):
                self.x = x
            def go(self):
                return self.x.¤softmax(-1)
        """,
    ),
    "field_that_holds_an_array": (
        [M],
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class CorruptionPolicy:
            x: object
            def go(self):
                return self.x.¤softmax(-1)
        """,
    ),
    "field_with_a_default_that_holds_an_array": (
        [M],
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class CorruptionPolicy:
            x: object = None
            def go(self):
                return self.x.¤softmax(-1)
        """,
    ),
    "class_attribute_that_the_driver_sets": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            x = [1]
            def go(self):
                return self.x.¤softmax(-1)
        """,
    ),
    "attribute_that_the_driver_sets": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def __init__(self):
                self.x = None
            def go(self):
                return self.x.¤softmax(-1)
        """,
    ),
    "helper_that_a_demo_feeds_a_list": (
        [M],
        """
        import torch
        def corrupt_batch(x):
            return work(x)
        def work(x):
            return x.¤softmax(-1)
        def demo():
            work([1])
        """,
    ),
    "helper_given_an_attribute": (
        [M],
        """
        import torch
        def work(x):
            return x.¤softmax(-1)
        class CorruptionPolicy:
            x = 0
            def go(self):
                return work(self.x)
        """,
    ),
    "list_that_the_driver_fills": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def __init__(self):
                self.xs = []
            def add(self, x):
                self.xs.append(x)
            def go(self):
                return [x.¤softmax(-1) for x in self.xs]
        """,
    ),
    "dictionary_that_the_driver_fills": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def __init__(self):
                self.xs = {}
            def add(self, k, x):
                self.xs[k] = x
            def go(self):
                return self.xs["a"].¤softmax(-1)
        """,
    ),
    "function_in_a_method": (
        [M],
        """
        import torch
        class CorruptionPolicy:
            def go(self, batch):
                def inner(b):
                    return b.¤softmax(-1)
                return inner(batch)
        """,
    ),
    "class_getattr_meta": (
        [T],
        """
        import torch
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Meta(type):
            def __getattr__(cls, name):
                return hidden
        class CorruptionPolicy(metaclass=Meta):
            pass
        """,
    ),
    "new_returns_other": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        class CorruptionPolicy:
            def __new__(cls):
                return Hidden()
        """,
    ),
    "reduce_copy": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def __deepcopy__(self, memo):
                return ¤torch.softmax
        """,
    ),
    "default_dict": (
        [T],
        """
        import torch, collections
        class CorruptionPolicy:
            ops = collections.defaultdict(lambda: ¤torch.softmax)
        """,
    ),
    "state_dict_key": (
        [T],
        """
        import torch
        STATE = {}
        class CorruptionPolicy:
            def arm(self):
                STATE["op"] = ¤torch.softmax
            def go(self, x):
                return STATE["op"](x)
        """,
    ),
    "state_update": (
        [T],
        """
        import torch
        STATE = {}
        class CorruptionPolicy:
            def go(self, x):
                return STATE["op"](x)
        STATE.update(op=¤torch.softmax)
        """,
    ),
    "class_level_global": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            global op
            op = ¤torch.softmax
            def go(self, x):
                return op(x)
        """,
    ),
    "func_default_mutable": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x, cache=[]):
                return cache[0](x)
        CorruptionPolicy.go.__defaults__[0].append(¤torch.softmax)
        """,
    ),
    "func_defaults": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x, f=None):
                return f(x)
        CorruptionPolicy.go.__defaults__ = (¤torch.softmax,)
        """,
    ),
    "func_code": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x
        def hidden(self, x):
            return ¤torch.softmax(x)
        CorruptionPolicy.go.__code__ = hidden.__code__
        """,
    ),
    "func_dict": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return self.go.f(x)
        CorruptionPolicy.go.f = ¤torch.softmax
        """,
    ),
    "exception": (
        [T],
        """
        import torch
        class Odd(Exception):
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            raise Odd()
        """,
    ),
    "argument_of_an_exception": (
        [T],
        """
        import torch
        def corrupt_batch():
            raise ValueError(¤torch.softmax)
        """,
    ),
    "try_return": (
        [T],
        """
        import torch
        class Odd(Exception):
            def go(self, x):
                return ¤torch.softmax(x)
        def make():
            raise Odd()
        def corrupt_batch():
            try:
                make()
            except Exception as error:
                return error
        """,
    ),
    "yielded_obj": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            yield Hidden()
        """,
    ),
    "proxy": (
        [T],
        """
        import torch, weakref
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        h = Hidden()
        def corrupt_batch():
            return weakref.proxy(h)
        """,
    ),
    "context_variable": (
        [T],
        """
        import torch, contextvars
        var = contextvars.ContextVar("v")
        var.set(¤torch.softmax)
        class CorruptionPolicy:
            def go(self, x):
                return var.get()(x)
        """,
    ),
    "os_environ_obj": (
        [T],
        """
        import torch, types
        mod = types.ModuleType("m")
        mod.go = ¤torch.softmax
        class CorruptionPolicy:
            def go(self, x):
                return mod.go(x)
        """,
    ),
    "type3_lambda": (
        [T],
        """
        import torch
        members = dict(forward=lambda self, x: ¤torch.softmax(x))
        CorruptionPolicy = type("CorruptionPolicy", (torch.nn.Module,), members)
        """,
    ),
    "recursive_factory": (
        [T],
        """
        import torch
        def factory(depth):
            if depth: return factory(depth - 1)
            class Hidden:
                def go(self, x):
                    return ¤torch.softmax(x)
            return Hidden
        CorruptionPolicy = factory(3)
        """,
    ),
    "dict_get_class": (
        [T],
        """
        import torch
        def make():
            class Hidden:
                def go(self, x):
                    return ¤torch.softmax(x)
            return locals()
        CorruptionPolicy = make()["Hidden"]
        """,
    ),
    "dict_get_class_vars": (
        [T],
        """
        import torch
        def make():
            class Hidden:
                def go(self, x):
                    return ¤torch.softmax(x)
            return vars()
        def corrupt_batch():
            return make()["Hidden"]()
        """,
    ),
    "eval_name": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            return eval("Hidden")()
        """,
    ),
    "globals_dynamic": (
        [T],
        """
        import torch
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch(n):
            return globals()["Hid" + n]()
        """,
    ),
    "getattr_mod_dynamic": (
        [T],
        """
        import torch, sys
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch(n):
            return getattr(sys.modules[__name__], n)()
        """,
    ),
    "inspect_members": (
        [T],
        """
        import torch, sys, inspect
        class Hidden:
            def go(self, x):
                return ¤torch.softmax(x)
        def corrupt_batch():
            return dict(inspect.getmembers(sys.modules[__name__]))["Hidden"]()
        """,
    ),
    "getattr_func_module": (
        [T],
        """
        import torch
        def __getattr__(name):
            class Hidden:
                def go(self, x):
                    return ¤torch.softmax(x)
            return Hidden
        """,
    ),
    "del_entry": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return ¤torch.softmax(x)
        Other = CorruptionPolicy
        """,
    ),
    "cond_entry": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        if input():
            class CorruptionPolicy:
                def go(self, x):
                    return ¤torch.softmax(x)
        """,
    ),
    "mangled": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            def _Policy__go(self, x):
                return ¤torch.softmax(x)
        """,
    ),
    "slots_member": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            __slots__ = ("op",)
            def __init__(self):
                object.__setattr__(self, "op", ¤torch.softmax)
        """,
    ),
    "frozen_dc": (
        [T],
        """
        import torch, dataclasses
        @dataclasses.dataclass(frozen=True)
        class CorruptionPolicy:
            op: object = None
            def __post_init__(self):
                object.__setattr__(self, "op", ¤torch.softmax)
        """,
    ),
    "replace_dc": (
        [T],
        """
        import torch, dataclasses
        @dataclasses.dataclass
        class Cfg:
            op: object = None
        def corrupt_batch():
            return dataclasses.replace(Cfg(), op=¤torch.softmax)
        """,
    ),
    "user_dict": (
        [T],
        """
        import torch
        class CorruptionPolicy(dict):
            def __init__(self):
                self["op"] = ¤torch.softmax
        """,
    ),
    "list_sub": (
        [T],
        """
        import torch
        class CorruptionPolicy(list):
            def __init__(self):
                self.append(¤torch.softmax)
        """,
    ),
    "plain_list_module_append": (
        [T],
        """
        import torch
        class CorruptionPolicy(list):
            pass
        class Demo:
            pass
        p = CorruptionPolicy()
        p.append(¤torch.softmax)
        def corrupt_batch():
            return p
        """,
    ),
    "register_buffer_hook": (
        [T],
        """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_forward_pre_hook(lambda m, a: ¤torch.softmax(a[0], -1))
        """,
    ),
    "apply_fn": (
        [T],
        """
        import torch
        from torch import nn
        def init(m):
            m.forward = lambda x: ¤torch.softmax(x)
        def corrupt_batch():
            net = nn.Linear(1, 1)
            net.apply(init)
            return net
        """,
    ),
    "net_apply_import": (
        [T],
        """
        import torch
        from torch import nn
        net = nn.Linear(1, 1)
        def init(m):
            m.forward = lambda x: ¤torch.softmax(x)
        net.apply(init)
        def corrupt_batch():
            return net
        """,
    ),
    "class_apply_import": (
        [T],
        """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            pass
        def init(m):
            m.op = ¤torch.softmax
        net = CorruptionPolicy()
        net.apply(init)
        def corrupt_batch():
            return net
        """,
    ),
    "func_sets_on_param": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def init(m):
            m.op = ¤torch.softmax
        init(CorruptionPolicy)
        """,
    ),
    "map_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        def init(m):
            m.op = hidden
        list(map(init, [CorruptionPolicy]))
        """,
    ),
    "lambda_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        (lambda c: setattr(c, "go", hidden))(CorruptionPolicy)
        """,
    ),
    "comprehension_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        [setattr(c, "go", hidden) for c in (CorruptionPolicy,)]
        """,
    ),
    "class_body_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Setup:
            CorruptionPolicy.go = hidden
        """,
    ),
    "default_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        def setup(_=setattr(CorruptionPolicy, "go", hidden)):
            pass
        """,
    ),
    "decorator_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        def deco(f):
            CorruptionPolicy.go = hidden
            return f
        @deco
        def other():
            pass
        """,
    ),
    "init_subclass_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Setup:
            def __init_subclass__(cls):
                CorruptionPolicy.go = hidden
        class Trigger(Setup):
            pass
        """,
    ),
    "set_name_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class D:
            def __set_name__(self, o, n):
                CorruptionPolicy.go = hidden
        class Trigger:
            d = D()
        """,
    ),
    "del_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class D:
            def __del__(self):
                CorruptionPolicy.go = hidden
        D()
        """,
    ),
    "enter_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class D:
            def __enter__(self):
                CorruptionPolicy.go = hidden
            def __exit__(self, *a):
                pass
        with D(): pass
        """,
    ),
    "meta_init_sets": (
        [T],
        """
        import torch
        class CorruptionPolicy:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class Meta(type):
            def __init__(cls, *a):
                CorruptionPolicy.go = hidden
        class Trigger(metaclass=Meta):
            pass
        """,
    ),
    "subclass_sets": (
        [T],
        """
        import torch
        class Base:
            pass
        def hidden(self, x):
            return ¤torch.softmax(x)
        class CorruptionPolicy(Base):
            pass
        class Setup(Base):
            pass
        Setup.__base__.go = hidden
        """,
    ),
}

UNREACHED: dict[str, str] = {
    "class_that_nothing_makes": """
        import torch
        class Demo:
            def go(self, x):
                return ¤torch.softmax(x)
        class CorruptionPolicy:
            pass
        """,
    "class_made_in_a_function_that_nothing_calls": """
        import torch
        class Demo:
            def go(self, x):
                return ¤torch.softmax(x)
        def demo():
            return Demo()
        class CorruptionPolicy:
            pass
        """,
    "demo_under_main": """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x
        if __name__ == "__main__":
            ¤torch.softmax(CorruptionPolicy().go(1))
        """,
    "helper_put_into_a_class_that_nothing_makes": """
        import torch
        class Demo:
            pass
        Demo.go = ¤torch.softmax
        class CorruptionPolicy:
            pass
        """,
    "helper_put_into_a_function_that_nothing_calls": """
        import torch
        def demo():
            pass
        demo.op = ¤torch.softmax
        class CorruptionPolicy:
            pass
        """,
    "test_that_compares": """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x
        def test():
            assert CorruptionPolicy().go(1) == ¤torch.softmax(1)
        """,
    "own_methods_of_those_names": """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.gelu = lambda z: z * torch.tanh(z)
                self.add_module("relu", nn.Tanh())
            def softmax(self, x):
                e = torch.exp(x - x.max())
                return e / e.sum()
            def forward(self, x):
                return self.relu(self.gelu(self.softmax(x)))
        class CorruptionPolicy:
            def __init__(self):
                self.att = Attention()
            def go(self, x):
                return self.att(x)
        """,
    "own_member_by_setattr": """
        import torch
        from torch import nn
        class CorruptionPolicy(nn.Module):
            def __init__(self, **kw):
                super().__init__()
                setattr(self, "softmax", lambda x: torch.exp(x))
                self.acts = nn.ModuleDict({"relu": nn.Tanh()})
            def forward(self, x):
                return self.softmax(x) + self.acts["relu"](x)
        """,
    "subclass_that_nothing_makes": """
        import torch
        class CorruptionPolicy:
            def go(self, x):
                return x
        class Reference(CorruptionPolicy):
            def go(self, x):
                return ¤torch.softmax(x)
        """,
    "lookup_of_an_allowed_name": """
        import torch
        class CorruptionPolicy:
            act = "exp"
            def go(self, x):
                return getattr(torch, self.act)(x)
        """,
    "whole_solution_with_tests_and_a_demo": """
        from __future__ import annotations
        import math
        from abc import ABC, abstractmethod
        from dataclasses import dataclass, field
        from typing import Protocol
        import numpy as np
        import torch
        import torch.nn as nn
        import torch.nn.functional as F


        class Sampler(Protocol):
            def draw(self, n: int) -> np.ndarray: ...


        @dataclass(frozen=True)
        class Rates:
            mask: float = 0.8
            random: float = 0.1
            keep: float = 0.1
            weights: list[float] = field(default_factory=list)

            def __post_init__(self):
                object.__setattr__(self, "weights", [self.mask, self.random, self.keep])


        class Base(ABC):
            @abstractmethod
            def __call__(self, ids): ...

            @property
            def softmax(self):
                return lambda x: np.exp(x) / np.exp(x).sum()


        class CorruptionPolicy(Base):
            "Corrupts."

            def __init__(self, rate=0.15, rates: Rates | None = None, seed=0):
                self.rate = rate
                self.rates = rates or Rates()
                self.rng = np.random.default_rng(seed)
                self.history = []
                self.calls = 0

            def reset(self):
                self.history.clear()
                self.calls = 0

            @property
            def last(self):
                return self.history[-1]

            @classmethod
            def from_dict(cls, d):
                return cls(**d)

            @staticmethod
            def gelu(x):
                return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

            def __call__(self, ids):
                self.calls += 1
                mask = self.rng.random(ids.shape) < self.rate
                out = np.where(mask, 103, ids)
                self.history.append(out)
                return out, mask


        class LayerNorm(nn.Module):
            def __init__(self, d, eps=1e-5):
                super().__init__()
                self.gain = nn.Parameter(torch.ones(d))
                self.bias = nn.Parameter(torch.zeros(d))
                self.eps = eps

            def forward(self, x):
                mu = x.mean(-1, keepdim=True)
                var = x.var(-1, keepdim=True, unbiased=False)
                return (x - mu) / torch.sqrt(var + self.eps) * self.gain + self.bias


        class GELU(nn.Module):
            def forward(self, x):
                return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


        class Block(nn.Module):
            def __init__(self, d, h):
                super().__init__()
                self.norm = LayerNorm(d)
                self.gelu = GELU()
                self.qkv = nn.Linear(d, 3 * d)
                self.mlp = nn.Sequential(nn.Linear(d, 4 * d), GELU(), nn.Linear(4 * d, d))
                self.acts = nn.ModuleDict({"relu": GELU()})
                for i in range(2):
                    setattr(self, f"extra{i}", nn.Linear(d, d))
                self.h = h

            def softmax(self, s):
                e = torch.exp(s - s.max(-1, keepdim=True).values)
                return e / e.sum(-1, keepdim=True)

            def forward(self, x):
                q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
                a = self.softmax(q @ k.transpose(-1, -2))
                return x + self.mlp(self.acts["relu"](a @ v)) + self.gelu(x)


        class Model(nn.Module):
            def __init__(self, vocab, d=8, layers=2):
                super().__init__()
                self.emb = nn.Embedding(vocab, d)
                self.blocks = nn.ModuleList(Block(d, 2) for _ in range(layers))
                self.head = nn.Linear(d, vocab)

            def forward(self, ids):
                x = self.emb(ids)
                for block in self.blocks:
                    x = block(x)
                return self.head(x)


        class Trainer:
            def __init__(self, model, lr=1e-3):
                self.model = model
                self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
                self.losses = []

            @torch.no_grad()
            def evaluate(self, batch):
                return self.loss(batch).item()

            def loss(self, batch):
                logits = self.model(batch["ids"])
                z = logits - logits.max(-1, keepdim=True).values
                logp = z - torch.log(torch.exp(z).sum(-1, keepdim=True))
                return -logp.gather(-1, batch["labels"][..., None]).mean()

            def step(self, batch):
                self.opt.zero_grad()
                loss = self.loss(batch)
                loss.backward()
                self.opt.step()
                self.losses.append(loss.detach())
                return loss


        def corrupt_batch(batch, policy=None):
            policy = policy or CorruptionPolicy()
            model = Model(30)
            return Trainer(model), policy(batch)


        class ReferenceBlock(Block):
            def softmax(self, s):
                return ¤F.softmax(s, -1)


        class TestPolicy:
            def test_softmax(self):
                x = torch.randn(3)
                assert torch.allclose(Block(4, 1).softmax(x), ¤F.softmax(x, -1))


        def test_norm():
            assert torch.allclose(LayerNorm(3)(torch.ones(3)), ¤nn.LayerNorm(3)(torch.ones(3)))


        def demo():
            model = Model(30)
            model.blocks[0].norm = ¤nn.LayerNorm(8)
            print(¤F.softmax(model(torch.tensor([[1, 2]])), -1))


        if __name__ == "__main__":
            demo()
            print(¤F.gelu(torch.randn(3)))
        """,
    "check_at_the_bottom_of_the_file": """
        import torch
        class CorruptionPolicy:
            def __init__(self, rate):
                self.rate, self.calls = rate, 0
            def go(self, x):
                self.calls += 1
                return x * self.rate
        p = CorruptionPolicy(0.1)
        print(p.go(¤torch.softmax(torch.randn(3), -1)))
        assert torch.allclose(¤torch.softmax(p.go(torch.ones(3)), -1), torch.ones(3) / 3)
        """,
    "subclass_of_an_abstract_class": """
        import torch, abc
        class CorruptionPolicy(metaclass=abc.ABCMeta):
            def go(self, x):
                return x
        class Reference(CorruptionPolicy):
            def go(self, x):
                return ¤torch.softmax(x)
        """,
}


@pytest.mark.parametrize(("names", "source"), CASES.values(), ids=CASES)
def test_driver_reaches(names: list[str], source: str) -> None:
    source, expected = marked(source)
    found = driven(source)
    assert [place[1:] for place in places(found["violations"])] == expected
    assert helpers(found["violations"]) == set(names)
    assert found["notes"] == []


@pytest.mark.parametrize(("names", "source"), CASES.values(), ids=CASES)
def test_driver_reaches_it_whatever_else_is_asked_for(names: list[str], source: str) -> None:
    source, expected = marked(source)
    for entries in (ENTRIES, ENTRIES[::-1], ("Missing", *ENTRIES)):
        found: Any = analyze(source, RULES, entries, driven=True)
        assert [place[1:] for place in places(found["violations"])] == expected


@pytest.mark.parametrize("source", UNREACHED.values(), ids=UNREACHED)
def test_driver_never_gets_to(source: str) -> None:
    source, expected = marked(source)
    found = driven(source)
    assert found["violations"] == []
    assert found["suspicious"] == []
    assert [place[1:] for place in places(found["notes"])] == expected


@pytest.mark.parametrize(("helper", "source"), SINGLE.values(), ids=SINGLE)
def test_driver_reaches_all_that_a_call_does(helper: str, source: str) -> None:
    source, _ = marked(source)
    called: Any = analyze(source, RULES, "mlm_forward")
    used: Any = analyze(source, RULES, "mlm_forward", driven=True)
    assert helper in helpers(used["violations"])
    assert set(places(called["violations"])) <= set(places(used["violations"]))
    assert used["entry"] == called["entry"]


@pytest.mark.parametrize("source", CLEAN.values(), ids=CLEAN)
def test_clean_code_is_clean_for_a_driver_too(source: str) -> None:
    source, _ = marked(source)
    found: Any = analyze(source, RULES, "mlm_forward", driven=True)
    assert found["violations"] == []


LAYERS = """
from torch import nn
class CorruptionPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)
        self.bend = nn.Tanh()
        self.normalize = nn.LayerNorm(4)
        self.activate = nn.GELU()
        self.weigh = nn.Softmax(-1)
    def forward(self, x):
        return self.weigh(self.activate(self.normalize(self.bend(self.project(x)))))
"""


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        ([], {"torch.nn.LayerNorm", "torch.nn.GELU", "torch.nn.Softmax"}),
        (["torch.nn.LayerNorm", "torch.nn.GELU"], {"torch.nn.Softmax"}),
        (["torch.nn.*"], set()),
    ],
)
def test_layers_are_banned_as_the_rules_say(allowed: list[str], left: set[str]) -> None:
    rules = Rules.from_dict({**DATA, "allowed": [*DATA["allowed"], *allowed]})
    found: Any = analyze(LAYERS, rules, ["CorruptionPolicy"], driven=True)
    assert helpers(found["violations"]) == left
    assert found["suspicious"] == []


METHOD = """
import torch
class CorruptionPolicy:
    def go(self, x):
        return torch.softmax(x, -1)
def corrupt_batch(x):
    return x
"""


def test_a_class_that_is_asked_for_beside_other_names_is_used_without_a_driver_too() -> None:
    found: Any = analyze(METHOD, RULES, ENTRIES)
    assert places(found["violations"]) == [(T, 5, 16)]


def test_functions_without_a_driver_are_only_called() -> None:
    source = (
        METHOD.replace("return x\n", "return CorruptionPolicy().stay(x)\n") + "def corrupt_one(x): pass\n"
    )
    found: Any = analyze(source, RULES, ["corrupt_batch", "corrupt_one"])
    assert found["violations"] == []
    assert places(found["notes"]) == [(T, 5, 16)]
    used: Any = analyze(source, RULES, ["corrupt_batch", "corrupt_one"], driven=True)
    assert places(used["violations"]) == [(T, 5, 16)]


def test_one_class_without_a_driver_is_only_called() -> None:
    found: Any = analyze(METHOD, RULES, "CorruptionPolicy")
    assert found["violations"] == []
    assert found == analyze(METHOD, RULES, ["CorruptionPolicy"])


def test_every_name_that_is_asked_for_counts() -> None:
    source = (
        "import torch\n"
        "def a(x): return torch.relu(x)\n"
        "def b(x): return torch.softmax(x)\n"
        "def c(x): return x.gelu()\n"
    )
    assert helpers(analyze(source, RULES, ["a", "b"])["violations"]) == {"torch.relu", T}  # type: ignore[arg-type]
    assert helpers(analyze(source, RULES, ["b"])["violations"]) == {T}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["f"], "where f never gets to;"),
        (["f", "g"], "where neither f nor g gets to;"),
        (["f", "g", "h"], "where none of f, g and h gets to;"),
    ],
)
def test_note_names_all_that_never_get_there(entries: list[str], words: str) -> None:
    source = (
        "import torch\ndef demo(x): return torch.softmax(x)\ndef f(x): pass\ndef g(x): pass\ndef h(x): pass\n"
    )
    (note,) = analyze(source, RULES, entries)["notes"]  # type: ignore[misc]
    assert words in note["message"]


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        (
            "class CorruptionPolicy: pass\n\ndef corrupt_batch(a, b): pass",
            {"defined": True, "line": 1, "near": [], "parameters": None, "missing": {}},
        ),
        (
            "def corrupt_batch(a, b): pass\nclass CorruptionPolicy: pass",
            {"defined": True, "line": 2, "near": [], "parameters": None, "missing": {}},
        ),
        (
            "\ndef corrupt_batch(a, b): pass\nclass CorruptPolicy: pass",
            {
                "defined": False,
                "line": 2,
                "near": ["CorruptPolicy"],
                "parameters": 2,
                "missing": {"CorruptionPolicy": ["CorruptPolicy"]},
            },
        ),
        (
            "def corruptbatch(a, b): pass\nclass corruption_policy: pass",
            {
                "defined": False,
                "line": None,
                "near": ["corruption_policy", "corruptbatch"],
                "parameters": None,
                "missing": {"CorruptionPolicy": ["corruption_policy"], "corrupt_batch": ["corruptbatch"]},
            },
        ),
        (
            "x = 1",
            {
                "defined": False,
                "line": None,
                "near": [],
                "parameters": None,
                "missing": {"CorruptionPolicy": [], "corrupt_batch": []},
            },
        ),
    ],
)
def test_entry_of_several_names(source: str, entry: dict[str, object]) -> None:
    assert analyze(source, RULES, ENTRIES)["entry"] == entry


def test_a_name_that_is_there_is_no_near_miss_of_another() -> None:
    found: Any = analyze("def corrupt_batch(x): pass", RULES, ["corrupt_batch", "corrupt_batches"])
    assert found["entry"]["missing"] == {"corrupt_batches": []}


def test_a_name_given_twice_is_one() -> None:
    assert analyze("def f(x): pass", RULES, ["f", "f"]) == analyze("def f(x): pass", RULES, "f")


MINE = "import torch\nclass CorruptionPolicy:\n    def go(self, x): return torch.softmax(x)\n"
MODULES: dict[str, tuple[str, dict[str, str], str]] = {
    "class of a module": (
        "from policies import CorruptionPolicy\n",
        {"policies.py": MINE},
        T,
    ),
    "class of a module by another name": (
        "import policies\nCorruptionPolicy = policies.Mine\n",
        {"policies.py": "import torch\nclass Mine:\n    def go(self, x): return torch.softmax(x)\n"},
        T,
    ),
    "starred import": (
        "from policies import *\n",
        {"policies.py": MINE},
        T,
    ),
    "base in a module": (
        "import policies\nclass CorruptionPolicy(policies.Base): pass\n",
        {"policies.py": "import torch\nclass Base:\n    def go(self, x): return torch.softmax(x)\n"},
        T,
    ),
    "module in place of the class": (
        "import policies as CorruptionPolicy\n",
        {"policies.py": "import torch\ndef go(x): return torch.softmax(x)\n"},
        T,
    ),
    "module bound to the name": (
        "import policies\nCorruptionPolicy = policies\n",
        {"policies.py": "import torch\ndef go(x): return torch.softmax(x)\n"},
        T,
    ),
    "module that is returned": (
        "import policies\ndef corrupt_batch(): return policies\n",
        {"policies.py": "import torch\ndef go(x): return torch.softmax(x)\n"},
        T,
    ),
    "module in a returned list": (
        "import policies\ndef corrupt_batch(): return [policies]\n",
        {"policies.py": "import torch\ndef go(x): return torch.softmax(x)\n"},
        T,
    ),
    "helper that a returned module imports": (
        "import policies\ndef corrupt_batch(): return policies\n",
        {"policies.py": "from torch import softmax as go\n"},
        T,
    ),
    "module looked up by its name": (
        "import sys, policies\ndef corrupt_batch(): return sys.modules['policies']\n",
        {"policies.py": "import torch\ndef go(x): return torch.softmax(x)\n"},
        T,
    ),
    "the file itself": (
        "import sys, torch\ndef go(x): torch.relu(x)\ndef corrupt_batch(): return sys.modules[__name__]",
        {},
        "torch.relu",
    ),
    "method put into a class of a module": (
        "import torch, policies\nfrom policies import *\npolicies.CorruptionPolicy.go = torch.softmax",
        {"policies.py": "class CorruptionPolicy: pass\n"},
        T,
    ),
}


def in_files(main: str, modules: dict[str, str]) -> Any:
    texts = [("main", "solution.py", main), *(("module", path, text) for path, text in modules.items())]
    source, parts = parts_of(texts)
    asked = [name for name in ENTRIES if name in source]
    return analyze(source, RULES, asked, parts, "solution", driven=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(("main", "modules", "helper"), MODULES.values(), ids=MODULES)
def test_driver_reaches_helper_modules(main: str, modules: dict[str, str], helper: str) -> None:
    assert helpers(in_files(main, modules)["violations"]) == {helper}


def test_driver_never_gets_to_a_class_of_a_module_that_nothing_makes() -> None:
    found = in_files(
        "import policies\ndef corrupt_batch(x): return policies.go(x)\n",
        {
            "policies.py": "import torch\ndef go(x): return x\n"
            "class Demo:\n    def show(self, x): return torch.softmax(x)\n"
        },
    )
    assert found["violations"] == []
    assert helpers(found["notes"]) == {T}


@pytest.mark.parametrize(
    "source",
    [
        "from torch.nn import functional as F\ndef corrupt_batch(): return F\n",
        "import torch\nclass CorruptionPolicy:\n    def ops(self): return [torch.nn.functional]\n",
        "import torch.nn.functional as CorruptionPolicy\n",
        "import torch.nn.functional as F\nCorruptionPolicy = F\n",
    ],
)
def test_library_that_is_handed_out_whole_is_shown_to_the_teacher(source: str) -> None:
    found = driven(source)
    assert found["violations"] == []
    assert [entry["rule"] for entry in found["suspicious"]] == ["unresolved_lookup"]
    assert "hands on torch.nn.functional as a whole" in found["suspicious"][0]["message"]


def test_function_of_a_library_that_is_handed_out_is_no_matter() -> None:
    found = driven("import torch\ndef corrupt_batch(): return torch.exp\n")
    assert found["violations"] == found["suspicious"] == []


def test_executed_text_that_defines_the_class() -> None:
    text = "import torch\\nclass CorruptionPolicy:\\n    def go(self, x): return torch.softmax(x)"
    assert helpers(driven(f'exec("{text}")\n')["violations"]) == {T}


def test_too_large_a_source_tells_whether_every_name_is_in_it() -> None:
    source = "#" * 2_000_000 + "\ndef corrupt_batch(x): pass\n"
    one: Any = analyze(source, RULES, ["corrupt_batch"], driven=True)
    both: Any = analyze(source, RULES, ENTRIES, driven=True)
    assert (one["entry"]["defined"], both["entry"]["defined"]) == (True, False)


def indented(lines: Sequence[str], by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in lines)


@common
@given(roads(sorted(STEPS), "torch.softmax"))
def test_helper_in_a_method_is_found_whatever_way_it_takes(road: tuple[list[str], str]) -> None:
    lines, expression = road
    source = (
        "import torch\nclass CorruptionPolicy:\n    def go(self, x):\n"
        f"{indented(lines, 8)}        return {expression}(x)\n"
    )
    found: Any = analyze(source, RULES, "CorruptionPolicy", driven=True)
    assert helpers(found["violations"]) == {T}, source


@common
@given(roads(sorted(STEPS), "torch.softmax"), st.sampled_from(["put", "given", "kept"]))
def test_helper_that_gets_into_an_object_is_found_whatever_way_it_takes(
    road: tuple[list[str], str], how: str
) -> None:
    lines, expression = road
    source = "import torch\nclass Kept:\n    def __init__(self, op=None): self.op = op\n" + indented(lines, 0)
    if how == "put":
        source += f"kept = Kept()\nkept.op = {expression}\ndef corrupt_batch(x): return kept\n"
    elif how == "given":
        source += f"kept = Kept({expression})\ndef corrupt_batch(x): return kept\n"
    else:
        source += f"def corrupt_batch(x): return Kept({expression})\n"
    found: Any = analyze(source, RULES, "corrupt_batch", driven=True)
    assert helpers(found["violations"]) == {T}, source


@common
@given(roads(sorted(STEPS), "softmax"))
def test_own_function_in_a_method_is_clean_whatever_way_it_takes(road: tuple[list[str], str]) -> None:
    lines, expression = road
    source = (
        "import torch\ndef softmax(a, d=0):\n    return torch.exp(a) / torch.exp(a).sum(d)\n"
        "class CorruptionPolicy:\n    def go(self, x):\n"
        f"{indented(lines, 8)}        return {expression}(x)\n"
    )
    found: Any = analyze(source, RULES, "CorruptionPolicy", driven=True)
    assert found["violations"] == found["notes"] == [], source
