"""How far right and wrong training is from the bounds of mlm_training, over several seeds.

    python benchmarks/mlm_training_margins.py [SEEDS]

Each row is a way to train or a model, right or wrong, on the case that trains a TinyMLM; the columns are the
least and the largest loss at hidden positions after training, and the least accuracy.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from grader.exercise.driving import bound

ROOT = Path(__file__).parents[1]
DRIVER = (ROOT / "cases/mlm_training/driver.py").read_text(encoding="utf-8")
CASES = (("learns_a_cycle", [1, 2, 3, 4] * 6, 5, 24, 2, 1, 60, 64, 5, 0.25, 0.02),)
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


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
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
    sys.path.insert(0, str(ROOT))
    from reference.mlm_training import crosscheck, model

    fits: dict[str, Any] = {"right: reference": model.fit, "right: cross-check": crosscheck.fit}
    fits |= {name: bound(DRIVER, module(text), ("fit",), "")["fit"] for name, text in texts.items()}
    for case, data, *rest in CASES:
        print(case)
        for name, fit in fits.items():
            found = [fit(np.array(data), *rest, np.random.default_rng(seed)) for seed in range(seeds)]
            after = [one["after"] for one in found]
            before = min(one["before"] for one in found)
            accuracy = [one["accuracy"] for one in found]
            figures = (
                f"{min(after):.2f} to {max(after):.2f}, accuracy {min(accuracy):.2f} to {max(accuracy):.2f}"
            )
            print(f"  {name:32} before at least {before:.2f}, after {figures}", flush=True)


if __name__ == "__main__":
    main()
