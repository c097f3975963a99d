"""Demonstrations of every kind, to make pages and reports of."""

from __future__ import annotations

import math

from grader.demonstration import Demonstration, Example, Matrix, Metric, Vector

NAMES = ("the", "cat", "sat")
TELLING = Demonstration(
    "Rows that add up",
    "What a softmax does.\n\nIts rows add up to 1.",
    [
        Example(
            "rows",
            "Rows of probabilities",
            "Each row adds up to 1.\n\nThe largest is the last.",
            matrices=[
                Matrix("Probabilities", [[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]], columns=NAMES, scale=(0, 1)),
                Matrix("Scores", [[-1.5, 0.0, 2.0]], rows=["query"]),
            ],
            vectors=[
                Vector("Tokens", NAMES),
                Vector("Loss by step", [2.5, 1.25, -0.5], labels=["step 1", "step 2", "step 3"]),
            ],
            metrics=[Metric("rows", 2), Metric("loss", 0.123456789), Metric("dtype", "float64")],
        ),
        Example(
            "odd",
            "Numbers that are none",
            matrices=[Matrix("Not finite", [[math.nan, 1.0], [math.inf, -math.inf]])],
            vectors=[Vector("Without a bar", [0.0, math.nan]), Vector("Very large", [1e308, -1e308])],
            metrics=[Metric("overflow", math.inf)],
        ),
        Example("flags", "Truth values and texts", matrices=[Matrix("Mask", [[True, False], ["pad", 3]])]),
    ],
)
ALONE = Demonstration("Alone", "", [Example("only", "The only example", metrics=[Metric("points", 1.5)])])
LARGE = Demonstration(
    "Large",
    "As large as a matrix may be.",
    [
        Example(
            "large",
            "Forty by forty",
            matrices=[Matrix("Products", [[float(n * m) for n in range(40)] for m in range(40)])],
            vectors=[Vector("Squares", [n * n for n in range(100)])],
        ),
        Example("small", "One by one", matrices=[Matrix("One", [[1.0]])]),
    ],
)
RECORDS = {"telling": TELLING, "alone": ALONE, "large": LARGE}


def hostile(text: str) -> Demonstration:
    """The text wherever a text can be."""
    # A label is never blank.
    label = f"{text}x"
    example = Example(
        "hostile",
        label,
        text,
        matrices=[Matrix(label, [[text, 1.0], [-2.0, text]], rows=[text, text], columns=[text, text])],
        vectors=[Vector(label, [text, 2.0], labels=[text, text]), Vector(label, [text, text])],
        metrics=[Metric(label, text)],
    )
    return Demonstration(label, text, [example, Example("calm", label, metrics=[Metric(label, 1)])])
