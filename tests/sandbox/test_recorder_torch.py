"""Banned helpers of torch are found while they run; what is allowed never is, and nothing else changes."""

from __future__ import annotations

import base64
import functools
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from recorder_runs import SUBMISSIONS, helpers, record, recorder, rules, signs

torch = pytest.importorskip("torch")
F = torch.nn.functional


def x(*shape: int) -> Any:
    return torch.randn(*(shape or (3, 4)), dtype=torch.float32)


def ids() -> Any:
    return torch.randint(0, 4, (3,))


# --- every banned helper ------------------------------------------------------------------------

SPACES = (
    "torch",
    "torch.nn.functional",
    "torch.special",
    "torch.linalg",
    "torch.Tensor",
    "torch.nn",
    "torch._C._nn",
)


def banned() -> list[str]:
    """The banned names of torch's public namespaces, and two private ones."""
    found = []
    for space in SPACES:
        for name in dir(home(space)):
            if rules().helper(f"{space}.{name}") is not None:
                found.append(f"{space}.{name}")
    return found


def home(space: str) -> Any:
    value = torch
    for part in space.split(".")[1:]:
        value = getattr(value, part)
    return value


# Made outside of the recorded calls.
DECODER = torch.nn.TransformerDecoderLayer(4, 2, 8)
ENCODER = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
RECIPES: tuple[Callable[[Any], Any], ...] = (
    lambda f: f(x()),
    lambda f: f(x(), -1),
    lambda f: f(x(), -1, False),
    lambda f: f(x(), x()),
    lambda f: f(x(), x(4)),
    lambda f: f(x(), ids()),
    lambda f: f(x(), (4,)),
    lambda f: f(x(2, 4, 5), 2),
    lambda f: f(x(), 0.1, 0.2),
    lambda f: f(x(), x(4), x(4)),
    lambda f: f(x(), x(4), x(4).abs() + 1, True),
    lambda f: f(x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4)),
    lambda f: f()(x()),
    lambda f: f(4)(x()),
    lambda f: f(1)(x()),
    lambda f: f(2)(x(2, 2, 5)),
    lambda f: f(2)(x(2, 2, 5, 5)),
    lambda f: f(2)(x(2, 2, 3, 3, 3)),
    lambda f: f(0.1, 0.2)(x()),
    lambda f: f(2, 4)(x(2, 4, 5)),
    lambda f: f()(x(), ids()),
    lambda f: f(4, 2)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4)),
    lambda f: f(4, 2)(x(3, 1, 4)),
    lambda f: f(4, 2, 8)(x(3, 1, 4)),
    lambda f: f()(x(1, 2, 3, 4)),
    lambda f: f(x(2, 3, 4)),
    lambda f: f(x().sigmoid(), torch.rand(3, 4)),
    lambda f: f(4, 3, [1])(x(), torch.tensor([0, 1, 2])),
    lambda f: f(4, 5)(x(), ids()),
    lambda f: f(x(), x(5, 4), ids()),
    lambda f: f(4, 2, 1, 1, 8)(x(3, 1, 4), x(3, 1, 4)),
    lambda f: f(4, 2, 8)(x(3, 1, 4), x(3, 1, 4)),
    lambda f: f(DECODER, 1)(x(3, 1, 4), x(3, 1, 4)),
    lambda f: f(ENCODER, 1)(x(3, 1, 4)),
    lambda f: f(
        x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), 4, 2, x(12, 4), x(12), None, None, False, 0.0, x(4, 4), x(4)
    ),
)
# These run no operator; what they help to run is found.
WITHOUT_OPERATOR = {"torch.nn.functional._get_softmax_dim"}


@pytest.mark.parametrize("name", banned())
def test_a_banned_helper_is_found_when_it_runs(name: str) -> None:
    space, _, last = name.rpartition(".")
    helper = getattr(home(space), last)
    recipes = list(RECIPES)
    if space in ("torch", "torch._C._nn", "torch.Tensor") and hasattr(torch.ops.aten, last):
        recipes[:0] = by_schema(last)
        if last.startswith("_"):
            # Private ones check nothing: real arguments that do not fit would corrupt this process's memory.
            recipes = list(by_schema(last))
    rule = rules().helper(name)
    assert rule is not None
    raised: list[str] = []
    for recipe in recipes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                record(lambda recipe=recipe: recipe(helper))
            except Exception as error:
                # An operator for other devices raises when it is run, which is after it was noted.
                raised.append(repr(error))
        if rule.id in {rule for rule, _ in helpers()}:
            break
    if name in WITHOUT_OPERATOR:
        assert len(raised) < len(recipes)
        return
    assert rule.id in {rule for rule, _ in helpers()}, raised
    assert all(found["line"] for found in recorder().findings())
    assert signs() == []


def by_schema(name: str) -> Iterator[Callable[[Any], Any]]:
    """Calls of a function whose arguments are made from an operator's schema.

    The tensors have no memory: arguments that do not fit together must not reach native code.
    """
    packet = getattr(torch.ops.aten, name)
    for overload in packet.overloads():
        arguments = [argument_of(a) for a in getattr(packet, overload)._schema.arguments if not a.kwarg_only]
        yield lambda f, arguments=arguments: f(*arguments)


def meta() -> Any:
    return torch.empty(3, 4, device="meta")


def argument_of(argument: Any) -> Any:
    if argument.has_default_value():
        return argument.default_value
    kind = str(argument.type)
    if argument.name.endswith("dtype"):
        return torch.float32
    if kind.startswith("Optional"):
        return None
    values: dict[str, Any] = {
        "Tensor": meta(),
        "int": 1,
        "SymInt": 1,
        "float": 0.5,
        "bool": False,
        "number": 0.5,
        "Scalar": 0.5,
        "List[int]": [4],
        "List[SymInt]": [4],
        "List[bool]": [True, True, True],
        "List[Tensor]": [meta()],
        "str": "none",
    }
    return values[kind]


def banned_operators() -> list[str]:
    names = {full.partition(".")[0] for full in torch._C._dispatch_get_all_op_names()}
    return sorted(
        name.partition("::")[2]
        for name in names
        if name.startswith("aten::") and rules().helper(f"torch.ops.{name.replace('::', '.')}") is not None
    )


@pytest.mark.parametrize("name", banned_operators())
def test_a_banned_operator_is_found_by_whatever_overload(name: str) -> None:
    packet = getattr(torch.ops.aten, name)
    rule = rules().helper(f"torch.ops.aten.{name}")
    assert rule is not None
    for overload, recipe in zip(packet.overloads(), by_schema(name), strict=True):
        operator = getattr(packet, overload)
        outs = {
            a.name: meta() for a in operator._schema.arguments if a.kwarg_only and a.alias_info is not None
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                record(functools.partial(recipe, functools.partial(operator, **outs)))
            except Exception:
                pass  # it was noted before its kernel refused the arguments
        assert (rule.id, f"aten::{name}") in {(f["rule"], f["operator"]) for f in recorder().findings()}, (
            overload
        )
        assert signs() == []


# --- hidden ways --------------------------------------------------------------------------------


def by_letters() -> Any:
    return getattr(torch, "".join(chr(c) for c in (115, 111, 102, 116, 109, 97, 120)))(x(), -1)


def below_python() -> Any:
    return torch._C._VariableFunctions.softmax(x(), -1)


def functions_off() -> Any:
    with torch._C.DisableTorchFunction():
        return F.normalize(x())


def mode_taken_away() -> Any:
    value = x()
    mode = torch._C._pop_torch_function_stack()
    try:
        return F.normalize(value)
    finally:
        torch._C._push_on_torch_function_stack(mode)


def under_own_modes() -> Any:
    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    class Operators(torch.utils._python_dispatch.TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with Functions(), Operators():
        return F.gelu(x())


class Own(torch.Tensor):
    """A subclass that changes nothing."""


class HiddenInBackward(torch.autograd.Function):
    """Gives the normalized gradient."""

    @staticmethod
    def forward(context: Any, value: Any) -> Any:
        return value.clone()

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return F.normalize(gradient)


def in_a_backward() -> Any:
    value = x().requires_grad_()
    HiddenInBackward.apply(value).sum().backward()
    return value.grad


def as_a_hook(hook: Callable[[Any], Any]) -> Any:
    """A value that is handed through a hook on its way back."""
    value = torch.zeros(3, 4, requires_grad=True)
    value.register_hook(hook)
    return torch.autograd.grad(value, value, x())


class HandedOn(torch.nn.Module):
    forward = staticmethod(F.gelu)  # type: ignore[assignment]


def in_a_parametrization() -> Any:
    module = torch.nn.Linear(4, 3)
    torch.nn.utils.parametrize.register_parametrization(module, "weight", HandedOn())
    return module.weight


def inference() -> Any:
    with torch.inference_mode():
        return F.layer_norm(x(), (4,))


def text_that_is_run() -> Any:
    space: dict[str, Any] = {"torch": torch, "x": x()}
    exec(base64.b64decode("eSA9IHRvcmNoLnNvZnRtYXgoeCwgLTEp"), space)
    return space["y"]


def categorical() -> Any:
    return torch.distributions.Categorical(logits=x()).probs


HIDDEN: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "by_letters": ("softmax", "torch.softmax", by_letters),
    "operator": ("softmax", "torch.softmax", lambda: torch.ops.aten._softmax(x(), -1, False)),
    "overload": ("softmax", "torch.nn.functional.softmax", lambda: torch.ops.aten.softmax.int(x(), -1)),
    "composite_operator": (
        "normalization",
        "torch.nn.functional.rms_norm",
        lambda: torch.ops.aten.rms_norm(x(), (4,)),
    ),
    "below_python": ("softmax", "torch.softmax", below_python),
    "method": ("softmax", "torch.Tensor.softmax", lambda: x().softmax(-1)),
    "in_place": ("activation", "torch.relu_", lambda: torch.relu_(x())),
    "functions_off": ("normalization", "torch.nn.functional.normalize", functions_off),
    "mode_taken_away": ("normalization", "torch.nn.functional.normalize", mode_taken_away),
    "under_own_modes": ("activation", "torch.nn.functional.gelu", under_own_modes),
    "subclass": ("softmax", "torch.Tensor.softmax", lambda: x().as_subclass(Own).softmax(-1)),
    "vmap": ("softmax", "torch.softmax", lambda: torch.vmap(by_name("softmax"), in_dims=(0, None))(x(), -1)),
    "vmap_of_python": (
        "normalization",
        "torch.nn.functional.normalize",
        lambda: torch.vmap(hidden_norm)(x()),
    ),
    "func_grad": (
        "softmax",
        "torch.softmax",
        lambda: torch.func.grad(lambda r: by_name("softmax")(r, -1)[0])(x(4)),
    ),
    "jacobian": ("activation", "torch.nn.functional.gelu", lambda: torch.func.jacrev(F.gelu)(x(2))),
    "in_a_backward": ("normalization", "torch.nn.functional.normalize", in_a_backward),
    "hook": ("activation", "torch.nn.functional.gelu", lambda: as_a_hook(F.gelu)),
    "hook_operator": (
        "activation",
        "torch.nn.functional.gelu",
        lambda: as_a_hook(torch.ops.aten.gelu.default),
    ),
    "parametrization": ("activation", "torch.nn.functional.gelu", in_a_parametrization),
    "checkpoint": (
        "activation",
        "torch.nn.functional.gelu",
        lambda: torch.utils.checkpoint.checkpoint(F.gelu, x(), use_reentrant=False),
    ),
    "inference": ("normalization", "torch.nn.functional.layer_norm", inference),
    "text": ("softmax", "torch.softmax", text_that_is_run),
    "python_reference": ("softmax", "torch._refs.softmax", lambda: torch._refs.softmax(x(), -1)),
    "categorical": ("softmax", "torch.distributions.Categorical", categorical),
    "module": ("normalization", "torch.nn.LayerNorm", lambda: torch.nn.LayerNorm(4)(x())),
    "nested_module": ("softmax", "torch.nn.Softmax", lambda: torch.nn.Sequential(torch.nn.Softmax(-1))(x())),
    "functional_call": (
        "activation",
        "torch.nn.GELU",
        lambda: torch.func.functional_call(torch.nn.GELU(), {}, x()),
    ),
    "attention": (
        "attention",
        "torch.nn.MultiheadAttention",
        lambda: torch.nn.MultiheadAttention(4, 2).eval()(x(), x(), x()),
    ),
}


def by_name(name: str) -> Any:
    return getattr(torch, name)


def hidden_norm(row: Any) -> Any:
    return F.normalize(row, dim=-1)


@pytest.mark.parametrize(("rule", "helper", "call"), HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_helper_is_found_at_its_line(rule: str, helper: str, call: Callable[[], Any]) -> None:
    record(call)
    assert (rule, helper) in helpers()
    assert all(found["line"] > 0 for found in recorder().findings())


@pytest.fixture
def scripts() -> Iterator[None]:
    """TorchScript compiles without telling that it is out of fashion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


def plain_norm(value: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(value) + torch.nn.functional.softsign(value)


class Shrinks(torch.nn.Module):
    """A module to be scripted."""

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.tanhshrink(value)


SOURCE = """
def f(x):
    return torch.softmax(x, -1) + torch.nn.functional.softsign(x)
"""


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: torch.jit.script(plain_norm),
            {"torch.nn.functional.normalize", "torch.nn.functional.softsign"},
        ),
        (lambda: torch.jit.script(Shrinks()), {"torch.nn.functional.tanhshrink"}),
        (lambda: torch.jit.trace(F.normalize, (x(),)), {"torch.nn.functional.normalize"}),
        (lambda: torch.jit.CompilationUnit(SOURCE).f, {"torch.softmax", "torch.nn.functional.softsign"}),
    ],
    ids=["function", "module", "trace", "text"],
)
def test_compiled_helpers_are_found_every_time(make: Callable[[], Any], expected: set[str]) -> None:
    compiled = make()
    plain = [compiled(torch.ones(2, 2)) for _ in range(3)]
    for number in range(3):
        answer = record(lambda: compiled(torch.ones(2, 2)))
        assert torch.equal(answer, plain[number])
        assert expected <= {helper for _, helper in helpers()}
    assert signs() == []


# --- what is allowed ----------------------------------------------------------------------------

HONEST: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda a, b: (a + b) * a / (b + 9) - a**3 + a % 2 - a.square(),
    "matmul": lambda a, b: a @ b.T,
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "bmm": lambda a, b: torch.bmm(a[None], b.T[None]),
    "addmm": lambda a, b: torch.addmm(a @ b.T, a, b.T),
    "tensordot": lambda a, b: torch.tensordot(a, b, dims=([1], [1])),
    "linear": lambda a, b: F.linear(a, b),
    "linear_module": lambda a, b: torch.nn.Linear(4, 4, dtype=a.dtype)(a).sum() * 0,
    "exp": lambda a, b: torch.exp(a - a.amax(-1, keepdim=True)),
    "exp_sum": lambda a, b: a.exp() / a.exp().sum(-1, keepdim=True),
    "max": lambda a, b: torch.max(a, -1, keepdim=True).values + torch.maximum(a, b) + a.max(),
    "logaddexp": lambda a, b: torch.logaddexp(a, b),
    "log": lambda a, b: torch.log(a.abs() + 1) + torch.log1p(a.abs()) + torch.expm1(a),
    "mean_var": lambda a, b: (
        (a - a.mean(-1, keepdim=True)) / (a.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    ),
    "std": lambda a, b: torch.std(a, -1) + torch.std_mean(a)[0] + torch.var_mean(a, -1)[1],
    "rsqrt": lambda a, b: torch.rsqrt(a.abs() + 1),
    "norms": lambda a, b: (
        torch.norm(a) + a.norm(dim=-1).sum() + torch.linalg.norm(b) + torch.linalg.vector_norm(b)
    ),
    "tanh": lambda a, b: torch.tanh(a) + F.tanh(b) + torch.nn.Tanh()(a),
    "sigmoid": lambda a, b: torch.sigmoid(a) + torch.special.expit(b) + torch.nn.Sigmoid()(a) + F.sigmoid(b),
    "erf": lambda a, b: torch.erf(a) + torch.special.erf(b) + torch.special.ndtr(a),
    "clamp": lambda a, b: a.clamp(0, 6) + a.clamp(min=0) + torch.clip(b, -1, 1) + torch.clamp_max(a, 1),
    "where": lambda a, b: torch.where(a > 0, a, 0 * a) + torch.masked_fill(b, b > 0, 0.0),
    "maximum_zero": lambda a, b: torch.maximum(a, torch.zeros_like(a)) + torch.minimum(b, torch.ones_like(b)),
    "sign_abs": lambda a, b: torch.sign(a) * torch.abs(a) - torch.floor(b),
    "embedding": lambda a, b: (
        F.embedding(torch.tensor([0, 2]), a) + torch.nn.Embedding(3, 4, _weight=b)(torch.tensor(1))
    ),
    "indexing": lambda a, b: (
        a[torch.tensor([0, 2])]
        + a.gather(0, torch.zeros(2, 4).long())
        + b.index_select(0, torch.tensor([1, 2])) * 2
    ),
    "masks": lambda a, b: a[a > 0].sum() + torch.masked_select(b, b > 0).sum() + torch.nonzero(a > 9).sum(),
    "shapes": lambda a, b: (
        torch.cat([a, b]).reshape(2, 3, 4).transpose(1, 2).contiguous().view(4, 6).permute(1, 0)
    ),
    "splits": lambda a, b: sum(
        part.sum() for part in (*a.chunk(2, -1), *torch.split(b, 2, -1), *torch.unbind(a))
    ),
    "stack": lambda a, b: (
        torch.stack([a, b]).unsqueeze(0).squeeze().flatten(0, 1).expand(2, 6, 4).repeat(1, 1, 2)
    ),
    "cumulative": lambda a, b: a.cumsum(-1) + torch.cumprod(b, -1) + torch.logaddexp2(a, b),
    "sort": lambda a, b: torch.sort(a, -1).values + torch.topk(b, 4, -1).values + a.argmax().sum(),
    "triangle": lambda a, b: torch.tril(a) + torch.triu(b) + torch.outer(a[:, 0], b[0]),
    "dropout": lambda a, b: F.dropout(a, 0.5, training=False) + torch.nn.Dropout(0.0)(b),
    "making": lambda a, b: (
        a + torch.tensor(1.0) + torch.ones(4) + torch.arange(4) + torch.full((4,), 0.5) + torch.eye(4)[:3]
    ),
    "numpy": lambda a, b: a + torch.from_numpy(b.detach().numpy()) + torch.as_tensor(np.ones(4)),
    "types": lambda a, b: a.double() + b.to(torch.float32) + a.float().type_as(b),
    "one_hot": lambda a, b: F.one_hot(ids(), 4).sum() * 0 + a.sum(),
    "conv": lambda a, b: F.conv1d(a[None], torch.ones(2, 3, 2, dtype=a.dtype)),
    "pool": lambda a, b: F.avg_pool1d(a[None], 2) + F.max_pool1d(b[None], 2),
    "pad": lambda a, b: F.pad(a, (1, 1)) + F.pad(b, (2, 0)),
    "distance": lambda a, b: (
        torch.cdist(a, b) + F.cosine_similarity(a, b).sum() + F.pairwise_distance(a, b).sum()
    ),
    "losses": lambda a, b: F.mse_loss(a, b) + F.l1_loss(a, b) + F.multilabel_soft_margin_loss(a, b.sigmoid()),
    "polynomials": lambda a, b: torch.linalg.vander(a[0])[0] + torch.special.i0(b[0]),
    "decompositions": lambda a, b: torch.linalg.svd(a)[1].sum() + torch.linalg.qr(b)[0].abs().sum(),
    "vmap": lambda a, b: torch.vmap(lambda r: (r - r.mean()) / (r.var(unbiased=False) + 1e-5).sqrt())(a),
    "func_grad": lambda a, b: torch.func.grad(lambda r: torch.tanh(r).sum())(a.detach()) + b,
    "lstm": lambda a, b: torch.nn.LSTM(4, 4, dtype=a.dtype)(a)[0].sum() * 0 + b.sum(),
    "printing": lambda a, b: a * len(repr(a)) * 0 + len(str(b)) * 0,
    "copies": lambda a, b: a.clone().detach() + b.clone().add_(1).mul_(2),
    "comparison": lambda a, b: a * float(torch.allclose(a, a)) + b * bool((b == b).all()),
    "parameters": lambda a, b: torch.nn.Parameter(a.detach().clone()) * b,
    "checkpoint": lambda a, b: torch.utils.checkpoint.checkpoint(torch.tanh, a, use_reentrant=False) + b,
}


def plain(call: Callable[[], Any]) -> Any:
    return call()


def no_grad(call: Callable[[], Any]) -> Any:
    with torch.no_grad():
        return call()


def inference_mode(call: Callable[[], Any]) -> Any:
    with torch.inference_mode():
        return call()


@pytest.mark.parametrize("way", [plain, no_grad, inference_mode, "backward"])
@pytest.mark.parametrize("call", HONEST.values(), ids=HONEST)
def test_honest_calls_are_not_reported_and_give_the_same_bits(
    call: Callable[[Any, Any], Any], way: Any
) -> None:
    def run() -> Any:
        torch.manual_seed(3)
        a, b = x(3, 4), x(3, 4)
        if way != "backward":
            return way(lambda: call(a, b)), None
        a.requires_grad_()
        answer = call(a, b)
        if answer.requires_grad:
            answer.sum().backward()
        return answer, a.grad

    expected, expected_grad = run()
    answer, grad = record(run)
    assert helpers() == []
    assert signs() == []
    assert answer.dtype == expected.dtype
    assert answer.requires_grad == expected.requires_grad
    assert answer.detach().numpy().tobytes() == expected.detach().numpy().tobytes()
    assert (grad is None) == (expected_grad is None)
    assert grad is None or grad.numpy().tobytes() == expected_grad.numpy().tobytes()


def own_softmax(value: Any) -> Any:
    e = torch.exp(value)
    return e / e.sum(-1, keepdim=True)


def test_a_function_or_operator_of_the_students_own_may_have_any_name() -> None:
    library = torch.library.Library("student", "DEF")
    library.define("softmax(Tensor x) -> Tensor")
    library.impl("softmax", own_softmax, "CPU")

    def gelu(value: Any) -> Any:
        return value * torch.sigmoid(value)

    record(lambda: gelu(torch.ops.student.softmax(x())))
    assert helpers() == []


@pytest.mark.parametrize("path", sorted(SUBMISSIONS.glob("right_*.py")), ids=lambda path: path.stem)
def test_right_submissions_are_not_reported_and_give_the_same_bits(
    path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("solution")
    monkeypatch.setitem(sys.modules, "solution", module)
    space = module.__dict__
    exec(compile(path.read_text("utf-8"), str(path), "exec", dont_inherit=True), space)
    random = np.random.default_rng(5)
    n, t, v, d, layers, heads = 2, 3, 7, 4, 2, 2

    def run() -> Any:
        answer = space["mlm_forward"](
            random.integers(0, v, (n, t)),
            np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
            *(made.normal(size=shape) for shape in ((v, d), (t, d), (layers, 6, d, d), (d, v))),
            heads,
        )
        return answer.detach().numpy() if isinstance(answer, torch.Tensor) else np.asarray(answer)

    answers = []
    for way in (plain, lambda call: record(call, str(path))):
        random, made = np.random.default_rng(5), np.random.default_rng(6)
        answers.append(way(run))
    assert helpers() == []
    assert signs() == []
    assert answers[0].tobytes() == answers[1].tobytes()


# --- what recording leaves as it was ------------------------------------------------------------


def depth() -> tuple[int, int]:
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()


def test_exceptions_pass_and_nothing_stays_behind() -> None:
    def fails() -> Any:
        x() @ x()

    before = depth()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        record(fails)
    assert depth() == before
    assert helpers() == []

    def exits() -> Any:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        record(exits)
    assert depth() == before


def test_outside_of_a_recorded_call_nothing_is_noted() -> None:
    recorder().clear()
    before = depth()
    x().softmax(-1)
    assert depth() == before
    assert helpers() == []


def test_a_mode_that_the_student_leaves_on_stays_on() -> None:
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    mode = Mode()
    before = depth()
    record(lambda: mode.__enter__())
    try:
        assert depth() == (before[0] + 1, before[1])
        assert torch._C._get_function_stack_at(before[0]) is mode
        assert signs() == []
    finally:
        torch._C._pop_torch_function_stack()


def test_a_custom_gradient_under_vmap_runs() -> None:
    class Doubles(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(value: Any) -> Any:
            return value * 2

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * 2

    value = x().requires_grad_()
    answer = record(lambda: torch.vmap(Doubles.apply)(value))
    assert torch.equal(answer, value * 2)
    assert helpers() == []


def test_the_helper_of_a_line_is_the_one_that_the_line_calls() -> None:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    record(lambda: layer(x(1, 3, 4)))
    assert helpers() == [("attention", "torch.nn.TransformerEncoderLayer")]
    record(lambda: torch.nn.Softmax(-1)(x()))
    (found,) = recorder().findings()
    assert found["helper"] == "torch.nn.Softmax"
    assert found["operator"] == "torch.nn.functional.softmax"


# --- interference -------------------------------------------------------------------------------


def test_taking_the_watch_away_is_a_sign_of_tampering() -> None:
    record(functions_off)
    assert signs() == ["function mode"]
    record(mode_taken_away)
    assert signs() == ["function mode"]
    line = recorder().tampered()[0]["line"]
    assert line == mode_taken_away.__code__.co_firstlineno + 4
    before = depth()
    record(lambda: torch._C._pop_torch_dispatch_stack(None) and None)
    assert signs() == ["dispatch mode"]
    assert depth() == before


def test_replacing_the_watchs_methods_is_a_sign_of_tampering() -> None:
    def replaces() -> None:
        mode = torch._C._get_function_stack_at(0)
        mode.__torch_function__ = lambda func, types, args=(), kwargs=None: func(*args, **(kwargs or {}))

    record(replaces)
    assert signs() == ["handlers"]
    mode = recorder()._torch.function_mode  # type: ignore[union-attr]
    del mode.__torch_function__


def test_a_fault_of_the_recorder_does_not_reach_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(recorder()._findings, "place", broken)
    value = torch.ones(2)
    answer = record(lambda: value.softmax(-1))
    assert torch.equal(answer, torch.full((2,), 0.5))
    assert recorder().failed == "function mode: KeyError"
