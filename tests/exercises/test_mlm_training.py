"""The exercise mlm_training: honest variants get full marks, mistakes lose the clause that they break."""

from __future__ import annotations

import importlib.util
import math
import types
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from grader.authoring.adequacy import Suite, Trial
from grader.exercise.cached import cached_pack
from grader.exercise.driving import bound
from grader.exercise.source import ExerciseSource, load

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases" / "mlm_training"
RIGHT = (ROOT / "submissions" / "mlm_training" / "right_torch.py").read_text("utf-8")
Change = tuple[tuple[str, str], ...]

LOSS = "    return -log_probs[torch.arange(len(log_probs)), labels[chosen]].mean()\n"
MASKS = "    chosen = torch.rand(batch_size, seq_len, generator=generator) < mask_prob\n"
STARTS = "    starts = torch.randint(0, len(data) - seq_len + 1, (batch_size, 1), generator=generator)\n"
INPUTS = "    inputs = torch.where(chosen, 0, tokens)\n"
LABELS = "    labels = torch.where(chosen, tokens, -100)\n"
STEP = "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"

RIGHT_VARIANTS: dict[str, Change] = {
    "as it is": (),
    "masks first": ((STARTS, MASKS + STARTS), (MASKS + INPUTS, INPUTS)),
    "bernoulli": (
        (
            MASKS,
            (
                "    rates = torch.full((batch_size, seq_len), float(mask_prob))\n"
                "    chosen = torch.bernoulli(rates, generator=generator).bool()\n"
            ),
        ),
    ),
    "float64 chances": (
        ("seq_len, generator=generator) <", "seq_len, generator=generator, dtype=torch.float64) <"),
    ),
    "starts from chances": (
        (
            STARTS,
            (
                "    starts = (torch.rand(batch_size, 1, generator=generator, dtype=torch.float64)"
                " * (len(data) - seq_len + 1)).long()\n"
            ),
        ),
    ),
    "overwritten copies": (
        (
            INPUTS + LABELS,
            (
                "    inputs = tokens.clone()\n    labels = tokens.clone()\n"
                "    inputs[chosen] = 0\n    labels[~chosen] = -100\n"
            ),
        ),
    ),
    "a list of two": (("    return inputs, labels\n", "    return [inputs, labels]\n"),),
    "logsumexp": (
        (
            LOSS,
            (
                "    kept, wanted = logits[chosen], labels[chosen]\n"
                "    return (kept.logsumexp(-1) - kept.gather(-1, wanted[:, None])[:, 0]).mean()\n"
            ),
        ),
    ),
    "loss in float64": (
        ("torch.log_softmax(logits[chosen], dim=-1)", "torch.log_softmax(logits[chosen].double(), dim=-1)"),
    ),
    "a loss of one element": ((LOSS, LOSS.replace(".mean()\n", ".mean().reshape(1)\n")),),
    "Adam": (("optim.AdamW", "optim.Adam"),),
    "gradients cleared after the step": (
        (STEP, "        loss.backward()\n        optimizer.step()\n        optimizer.zero_grad()\n"),
    ),
    "gradients cleared before the model": (
        (
            "        inputs, labels = get_mlm_batch(data, b",
            "        optimizer.zero_grad(set_to_none=False)\n        inputs, labels = get_mlm_batch(data, b",
        ),
        (STEP, STEP.replace("        optimizer.zero_grad()\n", "")),
    ),
    "evaluation mode at the end": (("    return losses\n", "    model.eval()\n    return losses\n"),),
    "ids in numpy": (
        (
            "    return torch.tensor([vocab[c] for c in text], dtype=torch.long)",
            "    import numpy as np\n\n    return np.array([vocab[c] for c in text], dtype=np.int64)",
        ),
        ("encode(text, vocab)[None]", "torch.from_numpy(encode(text, vocab))[None]"),
    ),
    "a head tied to the embeddings": (
        ("self.head(self.encoder(x))", "self.head(self.encoder(x)) + 0 * x.sum()"),
    ),
}

# What is changed, and the clause that it breaks.
WRONG_VARIANTS: dict[str, tuple[str, Change]] = {
    "ids from 0": ("vocabulary", (("{c: i + 1 for", "{c: i for"),)),
    "lower case": ("vocabulary", (("set(text)", "set(text.lower())"), ("c: i + 1", "c: i + 2"))),
    "unknown is 0": ("encoding", (("[vocab[c] for c in text]", "[vocab.get(c, 0) for c in text]"),)),
    "floats for nothing": ("encoding", (("for c in text], dtype=torch.long)", "for c in text])"),)),
    "gaps": (
        "windows",
        (("starts + torch.arange(seq_len)", "(starts + 2 * torch.arange(seq_len)) % len(data)"),),
    ),
    "first half": ("starts", (("len(data) - seq_len + 1, (b", "(len(data) - seq_len) // 2 + 1, (b"),)),
    "rate of the rest": (
        "selection",
        (("generator=generator) < mask_prob", "generator=generator) > mask_prob"),),
    ),
    "one mask for all": ("selection", (("torch.rand(batch_size, seq_len,", "torch.rand(1, seq_len,"),)),
    "masks of other places": (
        "hiding",
        ((INPUTS, "    inputs = torch.where(chosen.roll(1, 1), 0, tokens)\n"),),
    ),
    "mask is -1": ("hiding", ((INPUTS, "    inputs = torch.where(chosen, -1, tokens)\n"),)),
    "labels of the rest": ("labels", ((LABELS, "    labels = torch.where(chosen, -100, tokens)\n"),)),
    "labels are -1": ("labels", ((LABELS, "    labels = torch.where(chosen, tokens, -1)\n"),)),
    "global generator": ("generator", ((MASKS, MASKS.replace(", generator=generator", "")),)),
    "no errors": ("batch_errors", (("    if not 0 <= mask_prob <= 1:\n", "    if False:\n"),)),
    "label 0 left out": ("loss_selected", (("    chosen = labels != -100\n", "    chosen = labels > 0\n"),)),
    "sum": ("loss_value", ((LOSS, LOSS.replace("mean()", "sum()")),)),
    "base 2": ("loss_value", ((LOSS, LOSS.replace(".mean()", ".mean() / 0.6931472")),)),
    "a number": ("loss_gradient", ((LOSS, LOSS.replace(".mean()", ".mean().detach()")),)),
    "heads and layers swapped": (
        "logits_shape",
        (
            ("d_model, n_heads, 4 * d_model,", "d_model, n_layers, 4 * d_model,"),
            ("(layer, n_layers)", "(layer, n_heads)"),
        ),
    ),
    "softmax at the end": (
        "logits_shape",
        (("self.head(self.encoder(x))", "self.head(self.encoder(x)).softmax(-1)"),),
    ),
    "no positions": (
        "positions",
        (("self.token_emb(tokens) + self.pos_emb(places)", "self.token_emb(tokens)"),),
    ),
    "dropout stays": (
        "evaluation",
        (("self.head(self.encoder(x))", "self.head(F.dropout(self.encoder(x)))"),),
    ),
    "windows shown": (
        "steps",
        (
            (
                "loss = masked_loss(model(inputs), labels)",
                "loss = masked_loss(model(torch.where(labels >= 0, labels, inputs)), labels)",
            ),
        ),
    ),
    "evaluation mode": ("mode", (("    model.train()\n", "    model.eval()\n"),)),
    "kept gradients": ("gradients", (("        optimizer.zero_grad()\n", ""),)),
    "SGD": ("optimizer", (("optim.AdamW", "optim.SGD"),)),
    "its own rate": ("optimizer", (("lr=lr)", "lr=1e-3)"),)),
    "one loss": ("history", (("    return losses\n", "    return losses[-1:]\n"),)),
    "not told": ("history", (("if on_step is not None", "if False"),)),
    "no context": ("learning", (("self.head(self.encoder(x))", "self.head(x)"),)),
    "nothing hidden": ("prediction_input", (("        tokens[0, p] = 0\n", "        pass\n"),)),
    "logits": ("prediction_top", (("torch.softmax(logits[p], dim=-1)", "logits[p]"),)),
    "four": ("prediction_top", (("min(5,", "min(4,"),)),
    "positions used up": (
        "inputs",
        (
            (
                "    for p in positions:\n        probs",
                "    while positions:\n        p = positions.pop(0)\n        probs",
            ),
        ),
    ),
}


@pytest.fixture(scope="module")
def source() -> ExerciseSource:
    return load(CASES)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(cached_pack(ROOT, "mlm_training"), seconds=60)


def load_benchmark() -> types.ModuleType:
    path = ROOT / "benchmarks" / "mlm_training_margins.py"
    spec = importlib.util.spec_from_file_location("mlm_training_margins", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def changed(changes: Change) -> str:
    text = (
        RIGHT if "import torch.nn.functional as F" in RIGHT else "import torch.nn.functional as F\n" + RIGHT
    )
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def module(text: str) -> types.ModuleType:
    made = types.ModuleType("variant")
    exec(compile(text, "variant", "exec"), made.__dict__)
    return made


def trial(suite: Suite, text: str) -> Trial:
    calls = tuple(load(CASES).exercise.call_names)
    return suite.trial("variant", bound((CASES / "driver.py").read_text("utf-8"), module(text), calls, ""))


@cache
def clause_of() -> dict[str, str]:
    return {case.id: case.clause for case in cached_pack(ROOT, "mlm_training").cases}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT_VARIANTS)
def test_honest_variants_get_full_marks(suite: Suite, name: str) -> None:
    assert trial(suite, changed(RIGHT_VARIANTS[name])).killed == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG_VARIANTS)
def test_a_mistake_loses_its_clause(suite: Suite, name: str) -> None:
    clause, changes = WRONG_VARIANTS[name]
    assert clause in {clause_of()[case] for case in trial(suite, changed(changes)).killed}


def test_every_clause_has_a_public_case_and_a_hint(source: ExerciseSource) -> None:
    placed = [one.spec for one in source.entries]
    assert {case.clause for case in placed if case.visibility == "public"} == set(source.exercise.clauses)
    assert all(case.hint for case in placed)
    assert len(placed) >= 40


def test_the_statement_has_a_heading_for_every_clause(source: ExerciseSource) -> None:
    headings = {
        line.lstrip("# ").strip()
        for line in (CASES / "statement.md").read_text("utf-8").splitlines()
        if line.startswith("##")
    }
    assert set(source.exercise.clauses) <= headings


def test_the_statements_examples_hold() -> None:
    """Its facts against figures that are computed here."""
    right = module(RIGHT)
    assert right.build_vocab("dacb") == {"a": 1, "b": 2, "c": 3, "d": 4}
    torch = __import__("torch")
    logits = torch.zeros(2, 3, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1, -100, -100], [-100, 2, -100]])
    loss = right.masked_loss(logits, labels)
    loss.backward()
    assert math.isclose(loss.item(), math.log(4))
    wanted = np.zeros((2, 3, 4))
    wanted[0, 0] = (0.25 - np.eye(4)[1]) / 2
    wanted[1, 1] = (0.25 - np.eye(4)[2]) / 2
    assert np.allclose(logits.grad.numpy(), wanted)


def bound_of_the_loss(source: ExerciseSource) -> float:
    (case,) = [one.spec for one in source.entries if one.spec.id == "learns_a_text"]
    (claim,) = [one.claim for one in case.check.holds if one.claim.startswith("after <")]
    return float(claim.partition("<")[2])


def test_no_model_without_context_gets_below_the_bound(source: ExerciseSource) -> None:
    """Each place of each window is hidden once: the best guess by place costs the entropy of its tokens."""
    (case,) = [one.spec for one in source.entries if one.spec.id == "learns_a_text"]
    text, width = case.arrays["text"].value, case.arrays["seq_len"].value
    assert case.arrays["steps"].value == 500
    windows = np.array([list(text[s : s + width]) for s in range(len(text) - width + 1)])

    def entropy(tokens: np.ndarray) -> float:
        shares = np.unique(tokens, return_counts=True)[1] / len(tokens)
        return float(-(shares * np.log(shares)).sum())

    least = float(np.mean([entropy(column) for column in windows.T]))
    assert 1.74 < least < 1.75
    assert bound_of_the_loss(source) < 0.6 * least


@pytest.mark.slow
def test_the_bounds_lie_between_right_and_wrong_training_with_a_margin(source: ExerciseSource) -> None:
    """Each way over three seeds; giving labels to all positions learns the text too."""
    margins = load_benchmark()
    given = margins.arguments()
    bound_of_loss = bound_of_the_loss(source)
    for name, fit in margins.ways().items():
        for seed in range(3):
            got = fit(*given, np.random.default_rng(seed))
            assert got["before"] > 1.7, name
            if name.startswith("right"):
                assert got["after"] < bound_of_loss / 2 and got["accuracy"] > 0.7, (name, seed, got["after"])
                assert got["first"] >= 7 and got["among_five"] == 10, (name, seed)
            elif name != "wrong: labels of everything":
                assert got["after"] > 1.6 * bound_of_loss and got["accuracy"] < 0.4, (name, seed)
                assert got["first"] <= 4, (name, seed)
