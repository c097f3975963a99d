"""What ``grader demo mlm_training`` shows: a batch, losses on the way, and predictions of a trained model."""

from __future__ import annotations

import numpy as np
import torch

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

from .model import STEPS, solution

TEXT = "red blue " * 4
LENGTH = 10
STEPS_OF_TRAINING = 120


def demonstrate() -> Demonstration:
    """A text of two words that repeat, from its vocabulary to a trained model."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    student = solution(STEPS)
    vocab = student.build_vocab(TEXT)
    names = {0: "[MASK]", **{token: character for character, token in vocab.items()}}
    data = student.encode(TEXT, vocab)
    generator = torch.Generator().manual_seed(1)
    inputs, labels = student.get_mlm_batch(data, 3, LENGTH, 0.3, generator)
    rows = [f"row {at}" for at in range(len(inputs))]
    columns = [str(at) for at in range(LENGTH)]
    model = student.TinyMLM(len(vocab) + 1, 24, 2, 1, LENGTH)
    text = TEXT[:LENGTH]
    before = student.predict_masked(model, text, [1], vocab)[0]
    losses = student.train(model, data, STEPS_OF_TRAINING, 32, LENGTH, 0.25, 0.01, generator)
    after = student.predict_masked(model, text, [1], vocab)[0]
    tenth = [float(np.mean(losses[at : at + 10])) for at in range(0, STEPS_OF_TRAINING, 10)]

    def best(answer: dict[str, object], label: str) -> Vector:
        pairs: list[tuple[str, float]] = answer["top_predictions"]  # type: ignore[assignment]
        return Vector(label, [p for _, p in pairs], labels=[repr(c) for c, _ in pairs])

    return Demonstration(
        "Training a small masked language model",
        f"The text is {TEXT!r}.",
        [
            Example(
                "batch",
                "A batch",
                "Selected positions are hidden in the inputs, and only they have a label.",
                matrices=[
                    Matrix(
                        "Inputs",
                        [[names[i] for i in row] for row in inputs.tolist()],
                        rows=rows,
                        columns=columns,
                    ),
                    Matrix(
                        "Labels",
                        [[str(i) for i in row] for row in labels.tolist()],
                        rows=rows,
                        columns=columns,
                    ),
                ],
            ),
            Example(
                "training",
                "The loss goes down",
                "Each bar is the mean loss of ten steps.",
                vectors=[
                    Vector("Loss", tenth, labels=[f"from {at}" for at in range(0, STEPS_OF_TRAINING, 10)])
                ],
                metrics=[Metric("loss of a constant guess", round(float(np.log(len(vocab))), 3))],
            ),
            Example(
                "prediction",
                "A hidden letter",
                f"Position 1 of {text!r} is hidden.",
                vectors=[best(before, "Before training"), best(after, "After training")],
            ),
        ],
    )
