"""What is no use of a banned helper is never called one."""

from __future__ import annotations

import pytest
from policy_samples import marked, places, report

CLEAN: dict[str, str] = {
    "own_softmax": """
        import numpy as np
        def softmax(x):
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)
        def mlm_forward(x):
            return softmax(x)
        """,
    "own_softmax_in_a_file_that_imports_torch": """
        import torch
        def softmax(x):
            e = torch.exp(x)
            return e / e.sum(-1, keepdim=True)
        def mlm_forward(x):
            return softmax(torch.tensor(x))
        """,
    "nested_own_function": """
        import torch
        def mlm_forward(x):
            def gelu(z):
                return z * 0.5 * (1 + torch.tanh(z))
            return gelu(x)
        """,
    "lambda_of_that_name": """
        import torch
        relu = lambda z: z * (z > 0)
        def mlm_forward(x):
            return relu(x)
        """,
    "parameter_of_that_name": """
        import torch
        def apply(softmax, x):
            return softmax(x)
        def mlm_forward(x, softmax=None):
            return apply(torch.exp, x) if softmax is None else softmax(x)
        """,
    "variable_of_that_name": """
        import torch
        def mlm_forward(x):
            softmax = torch.exp(x) / torch.exp(x).sum()
            layer_norm = softmax.mean()
            return softmax + layer_norm
        """,
    "own_method_called_on_self": """
        import torch
        class Model:
            def softmax(self, x):
                return torch.exp(x)
            def __call__(self, x):
                return self.softmax(x)
        mlm_forward = Model()
        """,
    "own_method_called_on_an_instance": """
        import torch
        class Ops:
            @staticmethod
            def softmax(x):
                return torch.exp(x)
        ops = Ops()
        def mlm_forward(x):
            return ops.softmax(x) + Ops.softmax(x) + Ops().softmax(x)
        """,
    "own_method_of_an_object_of_unknown_origin": """
        import torch
        class Ops:
            def softmax(self, x):
                return torch.exp(x)
        def attend(ops, x):
            return ops.softmax(x)
        def mlm_forward(x):
            return attend(eval_ops(), x)
        def eval_ops():
            return [Ops()][0]
        """,
    "own_method_of_a_module_subclass": """
        import torch
        from torch import nn
        class Model(nn.Module):
            def gelu(self, x):
                return 0.5 * x * (1 + torch.tanh(x))
            def forward(self, x):
                return self.gelu(x)
        def mlm_forward(x):
            model = Model()
            model.eval()
            return model(x)
        """,
    "inherited_own_method": """
        import torch
        class Base:
            def softmax(self, x):
                return torch.exp(x)
        class Model(Base):
            def run(self, x):
                return super().softmax(x) + self.softmax(x)
        mlm_forward = Model().run
        """,
    "attribute_of_an_own_object": """
        import torch
        class Model:
            def __init__(self):
                self.softmax = lambda x: torch.exp(x)
            def run(self, x):
                return self.softmax(x)
        mlm_forward = Model().run
        """,
    "attribute_of_an_own_object_from_outside": """
        import torch
        class Cache: pass
        cache = Cache()
        cache.relu = lambda z: z * (z > 0)
        def mlm_forward(x):
            return cache.relu(x)
        """,
    "simple_namespace": """
        import torch
        from types import SimpleNamespace
        def own(x):
            return torch.exp(x)
        ops = SimpleNamespace(softmax=own)
        def attend(o, x):
            return o.softmax(x)
        def mlm_forward(x):
            return ops.softmax(x) + attend(ops, x)
        """,
    "named_tuple": """
        import collections, torch
        Ops = collections.namedtuple("Ops", "softmax gelu")
        ops = Ops(torch.exp, torch.tanh)
        def mlm_forward(x):
            return ops.softmax(x) + ops.gelu(x)
        """,
    "dataclass_field": """
        import torch
        from dataclasses import dataclass
        @dataclass
        class Config:
            softmax: bool
            gelu: str = "tanh"
        def read(c):
            return c.softmax, c.gelu
        def mlm_forward(x):
            return read(Config(True))
        """,
    "keyword": """
        import torch
        def f(x, softmax=False, **other):
            return x
        def mlm_forward(x):
            return f(x, softmax=1, gelu=torch.exp)
        """,
    "text_and_comment": '''
        """torch.nn.functional.softmax is banned."""
        import torch  # not torch.softmax
        NAMES = ["softmax", "torch.nn.functional.gelu"]
        def mlm_forward(x):
            """Does what torch.softmax(x) does."""
            print("torch.softmax", NAMES)  # F.softmax
            return x
        ''',
    "annotations": """
        import torch
        from torch import nn
        def mlm_forward(x: torch.Tensor, y: int = 3) -> torch.Tensor:
            z: torch.Tensor = x
            return z
        """,
    "allowed_functions": """
        import numpy as np, torch
        from torch import nn
        from scipy.special import expit
        def mlm_forward(x):
            t = torch.exp(torch.tensor(x)) + nn.Tanh()(x) + nn.functional.tanh(x) + torch.linalg.norm(x)
            return np.logaddexp(expit(x), torch.einsum("ij,jk", t, t).mean().var())
        """,
    "numpy_only": """
        import numpy as np
        def mlm_forward(x):
            x = x.softmax(-1) if hasattr(x, "softmax") else x
            return np.softmax(x)
        """,
    "definition_over_an_import": """
        import numpy as np
        from helpers import softmax
        def softmax(x):
            return np.exp(x)
        def mlm_forward(x):
            return softmax(x)
        """,
    "getattr_of_an_allowed_name": """
        import numpy as np, torch
        def mlm_forward(x):
            return getattr(np, "exp")(x) + getattr(torch, "ex" + "p")(x) + getattr(torch, f"{'tan'}h")(x)
        """,
    "dynamic_getattr_on_own_objects": """
        import torch
        class Model:
            w_q = w_k = None
            def get(self, name):
                return getattr(self, name)
            def run(self, x):
                return [self.get(n) for n in ("w_q", "w_k")], [getattr(self, f"w_{i}") for i in x]
        mlm_forward = Model().run
        """,
    "dynamic_getattr_on_numpy": """
        import numpy as np, torch
        def mlm_forward(x, name):
            return getattr(np, name)(x)
        """,
    "getattr_helper_function_with_allowed_names": """
        import torch
        def pick(name):
            return getattr(torch, name)
        def mlm_forward(x):
            return pick("exp")(x) + pick("tanh")(x)
        """,
    "getattr_names_that_belong_to_another_library": """
        import numpy as np, torch
        class Own:
            softmax = staticmethod(np.exp)
        def pick(lib, name):
            return getattr(lib, name)
        def mlm_forward(x):
            return pick(torch, "exp")(x) + pick(Own, "softmax")(x)
        """,
    "own_dispatch_by_text": """
        import numpy as np
        ACTS = {"softmax": np.exp, "gelu": np.tanh}
        def mlm_forward(x, act="gelu"):
            return ACTS[act](x) + ACTS["softmax"](x)
        """,
    "own_registry": """
        import torch
        REGISTRY = {}
        def register(f):
            REGISTRY[f.__name__] = f
            return f
        @register
        def softmax(x):
            return torch.exp(x)
        def mlm_forward(x):
            return REGISTRY["softmax"](x)
        """,
    "module_level_loop_and_comprehensions": """
        import numpy as np
        tables = []
        for i in range(3):
            tables.append(np.arange(i))
        squares = {i: i * i for i in range(4)}
        def mlm_forward(x):
            return [t + squares[0] for t in tables]
        """,
    "main_guard_only_own_code": """
        import numpy as np
        def mlm_forward(x):
            return np.exp(x)
        if __name__ == "__main__":
            print(mlm_forward(np.zeros(3)))
        """,
    "future_import_and_form_feed": (
        "from __future__ import annotations\n\x0cimport numpy as np\n"
        "def mlm_forward(x):\n    return np.exp(x)\n"
    ),
    "type_parameters_and_matrices": """
        import torch
        def mlm_forward(x, *rest, scale: float = 1.0, **options):
            (a, b), *c = x, *rest
            return a @ b.T * scale if c else options
        """,
    "custom_autograd_function": """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g
        def mlm_forward(x):
            return Square.apply(x)
        """,
    "torch_state_functions": """
        import torch
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        def mlm_forward(x):
            with torch.no_grad():
                return torch.as_tensor(x).sqrt().numpy()
        """,
    "long_honest_sum": "import torch\ndef mlm_forward(x):\n    return " + " + ".join(["x"] * 400) + "\n",
    "long_honest_elif_chain": (
        "def mlm_forward(x):\n    if x == 0:\n        return 0\n"
        + "".join(f"    elif x == {i}:\n        return {i}\n" for i in range(1, 400))
    ),
    "long_honest_chain_of_calls": (
        "import torch\ndef mlm_forward(x):\n    return x" + ".reshape(1)" * 60 + "\n"
    ),
    "long_honest_straight_line": (
        "import torch\ndef mlm_forward(x):\n    h = torch.tensor(x)\n"
        + "    h = h + h.mean() * h.reshape(-1)\n" * 200
        + "    return h\n"
    ),
    "table_of_modules_asked_for_membership": """
        import sys
        import torch
        FAST = "torch" in sys.modules
        def mlm_forward(x):
            return torch.exp(x) if FAST else x
        """,
    "walrus_and_comprehensions": """
        import torch
        if (n := 3) > 2:
            sizes = [m for k in range(n) if (m := k * k) > 1]
        def mlm_forward(x):
            return [torch.exp(x[i]) for i in sizes if (y := i) and y > n]
        """,
    "class_attribute_named_like_an_own_function": """
        import torch
        def softmax(x):
            return torch.exp(x)
        class Ops:
            softmax = softmax
            gelu = staticmethod(lambda x: torch.tanh(x))
        def mlm_forward(x):
            return Ops.softmax(x) + Ops.gelu(x)
        """,
    "own_test_case": """
        import unittest
        import torch
        def softmax(x):
            return torch.exp(x)
        class Tests(unittest.TestCase):
            def test_softmax(self):
                self.assertTrue((softmax(torch.zeros(3)) == 1).all())
        def mlm_forward(x):
            return softmax(x)
        """,
    "star_imports_and_own_names": """
        from numpy import *
        from torch.nn.functional import *
        def softmax(x):
            return exp(x)
        def mlm_forward(x, gelu=tanh):
            return gelu(softmax(x))
        """,
    "recurrent_loop_of_many_variables": (
        "import torch\ndef mlm_forward(x):\n"
        + "".join(f"    a{i} = torch.zeros(3)\n" for i in range(30))
        + "    for t in x:\n"
        + "".join(
            f"        a{i} = torch.sigmoid(a{(i + 1) % 30} @ t.T + a{(i + 7) % 30}.reshape(3)) * a{i}\n"
            for i in range(30)
        )
        + "    return a0\n"
    ),
    "containers_made_from_themselves": """
        import torch
        def mlm_forward(x):
            shape, seen, node = [], {}, torch
            for i in range(3):
                shape = [*shape, i]
                seen = {**seen, i: shape}
                shape = (*shape, *seen)
                node = node.parent
            return x.reshape(shape), torch.zeros(*shape).mean(), node
        """,
    "honest_loop_with_rebinding": """
        import torch
        def layer_norm(x):
            mu = x.mean(-1, keepdim=True)
            return (x - mu) / torch.sqrt(((x - mu) ** 2).mean(-1, keepdim=True) + 1e-5)
        def gelu(x):
            return 0.5 * x * (1 + torch.tanh(x))
        def mlm_forward(h, blocks):
            for w_q, w_k, w_v, w_o, w_1, w_2 in blocks:
                n = layer_norm(h)
                if n.shape[0] > 1:
                    h = h + n @ w_o
                else:
                    h = n
                h = h + gelu(layer_norm(h) @ w_1) @ w_2
            return h
        """,
}


@pytest.mark.parametrize("source", CLEAN.values(), ids=CLEAN)
def test_honest_code_is_clean(source: str) -> None:
    found = report(source)
    assert found["syntax_error"] is None
    assert found["violations"] == []
    assert found["suspicious"] == []
    assert found["notes"] == []


NOTED: dict[str, tuple[str, str]] = {
    "import_without_use": (
        "torch.softmax",
        """
        from torch import ¤softmax
        def mlm_forward(x):
            return x
        """,
    ),
    "import_replaced_by_an_own_definition": (
        "torch.softmax",
        """
        from torch import ¤softmax
        def softmax(x):
            return x
        def mlm_forward(x):
            return softmax(x)
        """,
    ),
    "import_replaced_by_an_assignment": (
        "torch.softmax",
        """
        from torch import ¤softmax
        softmax = lambda x: x
        def mlm_forward(x):
            return softmax(x)
        """,
    ),
    "local_import_shadowed": (
        "torch.softmax",
        """
        def mlm_forward(x):
            from torch import ¤softmax
            def softmax(z):
                return z
            return softmax(x)
        """,
    ),
    "main_guard": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        if __name__ == "__main__":
            print(¤torch.softmax(mlm_forward(3)))
        """,
    ),
    "main_guard_the_other_way_round": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        if "__main__" == __name__ and True:
            check = ¤torch.softmax
        """,
    ),
    "main_guard_of_a_module_that_is_imported_there": (
        "torch.nn.functional.softmax",
        """
        def mlm_forward(x):
            return x
        if __name__ == "__main__":
            import torch.nn.functional as F
            for _ in range(3):
                print(¤F.softmax(mlm_forward(3)))
        """,
    ),
    "function_that_nothing_calls": (
        "torch.softmax",
        """
        import torch
        def reference(x):
            return ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return x
        """,
    ),
    "function_called_under_the_main_guard": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        def main():
            print(¤torch.softmax(mlm_forward(3)))
        if __name__ == "__main__":
            main()
        """,
    ),
    "nested_function_that_nothing_calls": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            def reference(z):
                return ¤torch.softmax(z, -1)
            return x
        """,
    ),
    "method_that_nothing_calls": (
        "torch.softmax",
        """
        import torch
        class Model:
            def run(self, x):
                return x
            def reference(self, x):
                return ¤torch.softmax(x, -1)
        mlm_forward = Model().run
        """,
    ),
    "class_that_nothing_uses": (
        "torch.nn.LayerNorm",
        """
        from torch import nn
        class Mine(¤nn.LayerNorm):
            pass
        def mlm_forward(x):
            return x
        """,
    ),
    "method_of_a_module_subclass_that_nothing_calls": (
        "torch.softmax",
        """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x):
                return x
            def reference(self, x):
                return ¤torch.softmax(x, -1)
        def mlm_forward(x):
            return Model()(x)
        """,
    ),
    "self_test_at_module_level": (
        "torch.softmax",
        """
        import numpy as np, torch
        def mine(x):
            return x
        def mlm_forward(x):
            return mine(x)
        assert np.allclose(mine(3), ¤torch.softmax(3, -1))
        """,
    ),
    "self_test_by_a_library_call": (
        "torch.softmax",
        """
        import numpy as np, torch
        def mine(x):
            return np.exp(x)
        def mlm_forward(x):
            return mine(x)
        np.testing.assert_allclose(mine(3), ¤torch.softmax(3, -1))
        """,
    ),
    "self_test_that_feeds_the_own_function": (
        "torch.softmax",
        """
        import torch
        def mine(x):
            return x * 2
        def mlm_forward(x):
            return mine(x)
        print(mine(¤torch.softmax(3, -1)))
        """,
    ),
    "self_test_in_a_function": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        def check():
            expected = ¤torch.softmax(3, -1)
            assert mlm_forward(3) == expected
        check()
        """,
    ),
    "self_test_with_a_result_nobody_reads": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        expected = ¤torch.softmax(3, -1)
        ok = mlm_forward(3) == expected
        print(ok)
        """,
    ),
    "walrus_in_a_self_test": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x if shape else None
        assert ((shape := 3), ¤torch.softmax(3, -1))
        """,
    ),
    "self_test_in_a_test_case": (
        "torch.softmax",
        """
        import unittest, torch
        def mlm_forward(x):
            return x
        class Tests(unittest.TestCase):
            def test_it(self):
                self.assertEqual(mlm_forward(3), ¤torch.softmax(3, -1))
        """,
    ),
    "self_test_with_a_stored_result": (
        "torch.softmax",
        """
        import torch
        results = {}
        results["reference"] = ¤torch.softmax(3, -1)
        def mlm_forward(x):
            return x
        print(results)
        """,
    ),
    "self_test_in_a_loop": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        for seed in range(3):
            expected = ¤torch.softmax(seed, -1)
            if expected != mlm_forward(seed):
                raise AssertionError
        """,
    ),
    "logged": (
        "torch.softmax",
        """
        import logging, torch
        log = logging.getLogger()
        log.info(¤torch.softmax(3, -1))
        def mlm_forward(x):
            log.debug(x)
            return x
        """,
    ),
    "unread_member_of_a_dictionary": (
        "torch.softmax",
        """
        import torch
        OPS = {"torch": ¤torch.softmax, "own": torch.exp}
        def mlm_forward(x):
            return OPS["own"](x)
        """,
    ),
    "unread_local_alias": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            reference = ¤torch.softmax
            return x
        """,
    ),
    "unread_half_of_an_unpacking": (
        "torch.softmax",
        """
        import torch
        own, other = torch.exp, ¤torch.softmax
        def mlm_forward(x):
            return own(x)
        """,
    ),
    "unread_attribute": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        mlm_forward.reference = ¤torch.softmax
        """,
    ),
    "unread_class_attribute": (
        "torch.softmax",
        """
        import torch
        class A:
            own = torch.exp
            other = ¤torch.softmax
        def mlm_forward(x):
            return A.own(x)
        """,
    ),
    "annotation": (
        "torch.nn.LayerNorm",
        """
        from torch import nn
        def mlm_forward(x, norm: ¤nn.LayerNorm = None):
            return x
        """,
    ),
    "type_checking_import": (
        "torch.nn.LayerNorm",
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from torch.nn import ¤LayerNorm
        def mlm_forward(x):
            return x
        """,
    ),
    "switched_off": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            if False:
                return ¤torch.softmax(x, -1)
            return x
        """,
    ),
    "after_return": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
            return ¤torch.softmax(x, -1)
        """,
    ),
    "lookup_in_a_self_test_only": (
        "torch.softmax",
        """
        import torch
        def pick(name):
            return ¤getattr(torch, name)
        def mlm_forward(x):
            return pick("exp")(x)
        print(pick("softmax")(3))
        """,
    ),
    "library_given_by_a_self_test_only": (
        "torch.softmax",
        """
        import torch
        def net(x, lib):
            return ¤lib.softmax(x)
        class Own:
            softmax = staticmethod(lambda x: x)
        def mlm_forward(x):
            return net(x, Own)
        print(net(3, torch))
        """,
    ),
    "method_in_a_self_test": (
        "torch.Tensor.softmax",
        """
        import torch
        def mlm_forward(x):
            return x
        assert torch.tensor(3).¤softmax(-1) == mlm_forward(3)
        """,
    ),
    "rebound_before_use": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            act = ¤torch.softmax
            act = torch.exp
            return act(x)
        """,
    ),
    "rebound_at_module_level": (
        "torch.softmax",
        """
        import torch
        act = ¤torch.softmax
        def mlm_forward(x):
            return act(x)
        act = torch.exp
        """,
    ),
    "used_before_it_is_rebound_by_the_own_function": (
        "torch.softmax",
        """
        from torch import softmax
        expected = ¤softmax(3)
        def softmax(x):
            return x
        def mlm_forward(x):
            return softmax(x)
        """,
    ),
    "later_entry_wins": (
        "torch.softmax",
        """
        import torch
        def mlm_forward(x):
            return ¤torch.softmax(x)
        def mlm_forward(x):
            return x
        """,
    ),
    "entry_missing": (
        "torch.softmax",
        """
        import torch
        def mlm_foward(x):
            return ¤torch.softmax(x)
        """,
    ),
}


@pytest.mark.parametrize(("helper", "source"), NOTED.values(), ids=NOTED)
def test_unreached_helper_is_a_note_that_costs_nothing(helper: str, source: str) -> None:
    source, expected = marked(source)
    found = report(source)
    assert found["violations"] == []
    assert found["suspicious"] == []
    assert places(found["notes"]) == [(helper, *place) for place in expected]
    assert all("costs nothing" in note["message"] for note in found["notes"])


def test_notes_of_several_places_come_in_order_one_for_each() -> None:
    found = report(
        """
        from torch import softmax, relu
        import torch
        def check(x):
            return torch.softmax(x), torch.softmax(x), softmax(x)
        def mlm_forward(x):
            return x
        """
    )
    assert places(found["notes"]) == [
        ("torch.relu", 1, 28),
        ("torch.softmax", 4, 12),
        ("torch.softmax", 4, 30),
        ("torch.softmax", 4, 48),
    ]
