"""How far right and wrong training is from the bounds of mlm_training, over several seeds.

    python benchmarks/mlm_training_margins.py [SEEDS]

Each row is a way to train or a model, right or wrong, on the case that trains a TinyMLM. Told are the
least and the largest of what its claims are about: the loss at hidden positions before and after training,
the share of hidden tokens that are predicted, and how many of ten characters are the first prediction.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from grader.exercise.assemble import assemble, plain_call
from grader.exercise.driving import bound
from grader.exercise.source import load

ROOT = Path(__file__).parents[1]
DRIVER = (ROOT / "cases/mlm_training/driver.py").read_text(encoding="utf-8")
CASE = "learns_a_text"
HEAD = "self.head(self.encoder(x))"
# Changes of submissions/mlm_training/right_torch.py.
CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "right: no dropout": (("dropout=0.1", "dropout=0.0"), ("nn.Dropout(0.1)", "nn.Dropout(0.0)")),
    "right: dropout 0.2": (("dropout=0.1", "dropout=0.2"), ("nn.Dropout(0.1)", "nn.Dropout(0.2)")),
    "right: small weights at first": ((HEAD, "self.head(0.3 * self.encoder(x))"),),
    "right: Adam": (("optim.AdamW", "optim.Adam"),),
    "wrong: lr 0": (("lr=lr", "lr=0.0"),),
    "wrong: zero_grad before step": (
        (
            "        optimizer.zero_grad()\n        loss.backward()\n",
            "        loss.backward()\n        optimizer.zero_grad()\n",
        ),
    ),
    "wrong: nothing hidden": (("inputs = torch.where(chosen, 0, tokens)", "inputs = tokens"),),
    "wrong: labels shifted": (
        (
            "labels = torch.where(chosen, tokens, -100)",
            "labels = torch.where(chosen, tokens.roll(-1, 1), -100)",
        ),
    ),
    "wrong: labels of everything": (("labels = torch.where(chosen, tokens, -100)", "labels = tokens"),),
    "wrong: no context": ((HEAD, "self.head(x)"),),
    "wrong: gradients kept": (("        optimizer.zero_grad()\n", ""),),
    "wrong: SGD": (("optim.AdamW", "optim.SGD"),),
    "wrong: uphill": (("loss.backward()", "(-loss).backward()"),),
}


def module(text: str) -> types.ModuleType:
    """A submission's module."""
    made = types.ModuleType("submission")
    exec(compile(text, "submission", "exec"), made.__dict__)
    return made


def arguments() -> tuple[Any, ...]:
    """What the case calls ``fit`` with, all but the generator."""
    source = load(ROOT / "cases/mlm_training")
    (placed,) = [one for one in source.cases(source.require_fresh_frozen().batches) if one.case.id == CASE]
    return tuple(plain_call(assemble(source.exercise, placed).calls[0]))[:-1]


def ways() -> dict[str, Any]:
    """The ways to train, right and wrong, by name: functions with the arguments of the call ``fit``."""
    folder = ROOT / "submissions/mlm_training"
    base = (folder / "right_torch.py").read_text(encoding="utf-8")
    texts = {
        f"right: {name}": (folder / f"{name}.py").read_text(encoding="utf-8")
        for name in ("right_torch", "right_loops", "right_numpy")
    }
    for name, changes in CHANGES.items():
        text = base
        for old, new in changes:
            if old not in text:
                raise SystemExit(f"{name}: {old!r} is not in right_torch.py")
            text = text.replace(old, new)
        texts[name] = text
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from reference.mlm_training import crosscheck, model

    found: dict[str, Any] = {"right: reference": model.fit, "right: cross-check": crosscheck.fit}
    return found | {name: bound(DRIVER, module(text), ("fit",), "")["fit"] for name, text in texts.items()}


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    given = arguments()
    for name, fit in ways().items():
        found = [fit(*given, np.random.default_rng(seed)) for seed in range(seeds)]

        def span(key: str, digits: int, found: list[Any] = found) -> str:
            return " to ".join(f"{pick(one[key] for one in found):.{digits}f}" for pick in (min, max))

        figures = f"before {span('before', 2)}, after {span('after', 2)}, accuracy {span('accuracy', 2)}"
        told = f"first {span('first', 0)}, among five {span('among_five', 0)}"
        print(f"{name:32} {figures}, {told}", flush=True)


if __name__ == "__main__":
    main()
