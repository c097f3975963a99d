"""Result records to look at and to test with, one of each kind."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from grader.result import (
    Adjustment,
    CaseError,
    CaseResult,
    Isolation,
    Output,
    PolicyResult,
    Result,
    SubmissionInfo,
    Timing,
    Violation,
)

CLAUSES = {
    "embedding": "Token embeddings",
    "positions": "Position embeddings",
    "layer_norm": "Layer normalization",
    "projections": "Projections",
    "heads": "Heads",
    "scores": "Attention scores",
    "softmax": "Softmax",
    "attention": "Attention output",
    "attention_residual": "First residual",
    "gelu": "GELU",
    "mlp": "Feed-forward part",
    "selection_only": "Selected positions are no attention mask",
    "selection": "Selection",
    "shape": "Shape",
    "inputs": "Inputs stay as they are",
    "range": "Range of values",
}
EXERCISE: dict[str, Any] = {
    "name": "mlm_forward",
    "pack": "sha256:" + "3f9ac2" * 10 + "beef",
    "title": "MLM forward pass",
    "clauses": CLAUSES,
}
ISOLATION = Isolation("full", ("namespaces", "landlock", "seccomp", "rlimits"))
TIMING = Timing(0.0417, 0.0316, 0.021)

# (id, title, clause, visibility, points)
CASES = [
    ("no_blocks", "Embedding, position and head alone", "embedding", "public", 1.0),
    ("positions_by_column", "Positions differ by column", "positions", "public", 1.0),
    ("constant_rows", "Rows without variance", "layer_norm", "public", 1.0),
    ("three_projections", "Projections as supplied", "projections", "public", 1.0),
    ("two_heads", "Two heads", "heads", "public", 1.5),
    ("whole_block", "A whole block", "scores", "public", 2.0),
    ("peaked_rows", "One key takes all", "softmax", "public", 2.0),
    ("uniform_attention", "Even attention", "attention", "public", 2.0),
    ("residual_alone", "Nothing but the residual", "attention_residual", "public", 1.0),
    ("tanh_gelu", "The tanh form", "gelu", "public", 1.0),
    ("mask_is_no_mask", "The same tokens under several masks", "selection_only", "public", 1.0),
    ("nothing_selected", "Nothing is selected", "shape", "public", 0.5),
    ("read_only", "Read-only arguments", "inputs", "public", 1.0),
    ("drawn_01", "", "softmax", "hidden", 1.0),
    ("drawn_02", "", "heads", "hidden", 1.0),
    ("drawn_03", "", "mlp", "hidden", 1.0),
    ("large_scores", "Scores beyond 745", "range", "hidden", 1.0),
]


def cases() -> tuple[CaseResult, ...]:
    """Every case, passed."""
    return tuple(
        CaseResult(
            name,
            "isolating" if visibility == "public" else "random",
            title,
            clause,
            visibility,
            "passed",
            points,
            points,
            CaseError(3.1e-8, 1.2e-8, 4.1e-7),
        )
        for name, title, clause, visibility, points in CASES
    )


def info(name: str = "Ada Lovelace", identifier: str = "s001") -> SubmissionInfo:
    """Who handed it in."""
    return SubmissionInfo(
        identifier, name, (name,), f"/class/{identifier}/solution.py", "sha256:" + "ab12" * 16
    )


def result(changes: dict[str, CaseResult] | None = None, **more: Any) -> Result:
    """A record whose score is the sum of its parts, with some cases exchanged."""
    changes = changes or {}
    judged = tuple(changes.get(c.id, c) for c in cases())
    adjustments = more.get("adjustments", ())
    score = sum(c.points for c in judged) + sum(a.points for a in adjustments)
    maximum = sum(c.max_points for c in judged)
    plain: dict[str, Any] = {
        "exercise": EXERCISE,
        "submission": info(),
        "status": "passed" if score >= maximum else "failed",
        "score": score,
        "max_score": maximum,
        "message": "All checks passed, the hidden ones too.",
        "isolation": ISOLATION,
        "cases": judged,
        "timing": TIMING,
    }
    return Result(**plain | more)


def named(identifier: str) -> CaseResult:
    """One of the cases."""
    return next(c for c in cases() if c.id == identifier)


def passing() -> Result:
    """Full marks, with a note."""
    return result(notes=("Line 3: torch.nn.functional.softmax is imported and not used; that is allowed.",))


def _grid(rows: int, columns: int, seed: int) -> list[list[float]]:
    drawn = random.Random(seed)
    return [[drawn.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def details(seed: int = 1) -> dict[str, Any]:
    """What the judge keeps of a case with wrong values."""
    expected = _grid(4, 11, seed)
    obtained = [
        [v + 0.31 * (i == 2) * (j % 3) + 1e-9 for j, v in enumerate(row)] for i, row in enumerate(expected)
    ]
    obtained[1][4] = "nan"  # type: ignore[call-overload]
    weights = [_grid(4, 4, seed + 9 + k) for k in range(6)]
    names = "input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, num_heads"
    lines = ["import numpy as np", "from solution import mlm_forward", ""]
    lines += [f"w_emb = np.array({_grid(11, 4, seed + 5)!r}, dtype=np.float64)"]
    lines += [f"answer = mlm_forward({names})", "print(answer)"]
    return {
        "inputs": [
            {
                "name": "input_ids",
                "dtype": "int64",
                "shape": [2, 5],
                "values": [[1, 4, 2, 10, 0], [7, 7, 3, 1, 9]],
            },
            {
                "name": "mask_indicator",
                "dtype": "float64",
                "shape": [2, 5],
                "values": [[1.0, 0.0, 0.5, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0]],
            },
            {"name": "w_emb", "dtype": "float64", "shape": [11, 4], "values": _grid(11, 4, seed + 5)},
            {"name": "pos_embed", "dtype": "float64", "shape": [5, 4], "values": _grid(5, 4, seed + 6)},
            {"name": "blocks_weights", "dtype": "float64", "shape": [1, 6, 4, 4], "values": [weights]},
            {"name": "w_head", "dtype": "float64", "shape": [64, 1100]},
            {"name": "num_heads", "value": 2},
        ],
        "obtained": obtained,
        "expected": expected,
        "worst": [
            {"index": [1, 4], "obtained": "nan", "expected": expected[1][4]},
            {"index": [2, 2], "obtained": obtained[2][2], "expected": expected[2][2]},
            {"index": [2, 5], "obtained": obtained[2][5], "expected": expected[2][5]},
            {"index": [2, 8], "obtained": obtained[2][8], "expected": expected[2][8]},
        ],
        "stdout": "scores (2, 2, 5, 5)\nrow sums [1.31 0.97 0.88]\n",
        "snippet": "\n".join(lines) + "\n",
    }


def failing() -> Result:
    """Wrong values, an exception, a skipped case and hidden failures."""
    changes = {
        "uniform_attention": replace(
            named("uniform_attention"),
            verdict="wrong_value",
            points=0.0,
            error=CaseError(None, None, 4.1e-7),
            message="5 of 44 values are off by more than the tolerance; 1 of them is NaN.",
            hint="With w_q at zero every position attends evenly; w_v, w_o and the residual matter here.",
            details=details(),
        ),
        "peaked_rows": replace(
            named("peaked_rows"),
            verdict="wrong_value",
            points=0.0,
            error=CaseError(0.62, 0.2134567, 4.1e-7),
            message="12 of 44 values are off by more than the tolerance; the largest error is 0.62.",
            hint="Each row of scores is normalized over the keys, the last axis.",
            details=details(7),
        ),
        "nothing_selected": replace(
            named("nothing_selected"),
            verdict="raised",
            points=0.0,
            error=None,
            message="It raised ValueError in line 41: need at least one array to concatenate.",
            hint="With nothing selected the answer has the shape (0, V).",
            details={
                "inputs": [
                    {
                        "name": "mask_indicator",
                        "dtype": "float64",
                        "shape": [1, 3],
                        "values": [[0.0, 0.0, 0.5]],
                    },
                    {"name": "num_heads", "value": 1},
                ],
                "expected": [],
                "exception": "ValueError: need at least one array to concatenate",
                "traceback": [[52, "mlm_forward"], [41, "_pick_rows"]],
                "snippet": "import numpy as np\nfrom solution import mlm_forward\n\nprint(mlm_forward())\n",
            },
        ),
        "tanh_gelu": replace(
            named("tanh_gelu"),
            verdict="wrong_shape",
            points=0.0,
            error=None,
            message="Expected (4, 11), found (11, 4).",
        ),
        "mask_is_no_mask": replace(
            named("mask_is_no_mask"),
            verdict="skipped",
            points=0.0,
            error=None,
            message="Not counted, since uniform_attention did not pass.",
        ),
        "drawn_01": replace(
            named("drawn_01"),
            verdict="wrong_value",
            points=0.0,
            error=CaseError(0.123987, 0.0456987, 5.5e-7),
            message="Secret message",
            hint="Secret hint",
        ),
        "large_scores": replace(
            named("large_scores"),
            verdict="timed_out",
            points=0.0,
            error=None,
            message="It took more than 5 s.",
        ),
    }
    return result(
        changes,
        message="10 of 17 checks passed; the first clause that does not hold: Softmax.",
        notes=("Line 3: torch is imported and not used; that is allowed.",),
        output=Output("scores (2, 2, 5, 5)\n" * 30, "RuntimeWarning: overflow encountered in exp\n", True),
        hidden_output=Output("seen in a hidden call\n"),
        submission=info("Noether, Emmy", "s002"),
    )


def not_loadable() -> Result:
    """A syntax error."""
    judged = {
        c.id: replace(c, verdict="skipped", points=0.0, error=None, message="The file could not be loaded.")
        for c in cases()
    }
    return result(
        judged,
        status="not_loadable",
        message="Line 12 is not valid Python: '(' was never closed.",
        submission=info("Blaise Pascal", "s003"),
    )


def violated() -> Result:
    """Right values by a banned helper, and a suspicion."""
    found = Violation(
        "softmax",
        "torch.nn.functional.softmax",
        31,
        12,
        "static",
        "torch.nn.functional.softmax is a softmax helper; write the exponentials and their sum yourself.",
    )
    at_run = replace(found, line=0, column=0, found="runtime", helper="torch.ops.aten._softmax")
    suspicion = Violation(
        "dynamic_code", "exec", 44, 4, "static", "Text is run as code, and is not a constant."
    )
    points = sum(c.points for c in cases())
    return result(
        status="failed",
        adjustments=(Adjustment("a banned helper is used (torch.nn.functional.softmax, line 31)", -points),),
        policy=PolicyResult("violated", (found, at_run), (suspicion,)),
        message="A banned helper is used (torch.nn.functional.softmax, line 31); this costs points.",
        submission=info("Evariste Galois", "s004"),
    )


def suspicious() -> Result:
    """Full marks, and something for the teacher to look at."""
    suspicion = Violation(
        "dynamic_code", "exec", 44, 4, "static", "Text is run as code, and is not a constant."
    )
    return result(
        policy=PolicyResult("suspicious", (), (suspicion,)), submission=info("Leonhard Euler", "s006")
    )


def grader_fault() -> Result:
    """The grader failed: no score."""
    judged = {c.id: replace(c, verdict="grader_fault", points=0.0, error=None) for c in cases()}
    return result(
        judged,
        status="grader_fault",
        score=None,
        message="The grader failed; this costs nothing, and it has to be run again. (no space left)",
        submission=info("Ada Byron", "s005"),
        timing=Timing(),
    )


HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)> \'" &amp; {{ 7*7 }} {% raw %} ]]> --> </style>'
    "</title></textarea>\x1b[31mred\x1b[0m\x1b]8;;http://evil\x07link\x1b]8;;\x07 \x00\x07\x08 "
    "\u202egnp.exe\u202c\u2066x \ud800 e" + "\u0301" * 40 + " " + "W" * 300
)


def hostile(text: str = HOSTILE) -> Result:
    """The same text in every field that a text can be in."""
    found = Violation(text, text, 3, 1, "static", text)
    info_ = SubmissionInfo(text, text, (text, text), text, text)
    array = [[text, 1.0], ["nan", 2.0]]
    shown = {
        "inputs": [
            {"name": text, "dtype": text, "shape": [2, 2], "values": array},
            {"name": text, "dtype": text, "shape": [1, 2, 2], "values": [array]},
            {"name": text, "dtype": text, "shape": [text]},
            {"name": text, "value": text},
        ],
        "obtained": array,
        "expected": array,
        "worst": [{"index": [0, 1], "obtained": text, "expected": text}],
        "traceback": [[3, text]],
        "exception": text,
        "stdout": text,
        "stderr": text,
        "snippet": text,
    }
    case = CaseResult(text, text, text, text, "public", "wrong_value", 0.0, 1.0, None, text, text, shown)
    return Result(
        exercise={"name": text, "pack": text, "title": text, "clauses": {text: text}},
        submission=info_,
        status="failed",
        score=0.5,
        max_score=3.0,
        message=text,
        isolation=Isolation("partial", (text,)),
        adjustments=(Adjustment(text, -0.5),),
        policy=PolicyResult("violated", (found,), (found,)),
        cases=(
            case,
            replace(case, visibility="hidden", verdict="raised"),
            replace(case, verdict="skipped"),
            replace(case, verdict="grader_fault"),
            replace(case, verdict="passed", points=1.0),
        ),
        diagnoses=(
            diagnosis(page(text, text, text, text, text, text, text), message=text),
            diagnosis(*[page(text, text, text, text, text, text, text)] * 2, message=text),
            diagnosis(page(text, text, text, text, text, text, text), message=text, of=0),
        ),
        undiagnosed=text,
        notes=(text,),
        counterexample={
            "misconception": text,
            "clause": text,
            "title": text,
            "dims": {text: 1},
            "message": text,
            **{key: shown[key] for key in ("inputs", "obtained", "expected", "snippet")},
            "trace": {"step": text, "title": text, "obtained": text, "expected": [array], "times": 2},
        },
        influence={**influence(2, 2), "argument": text, "message": text},
        output=Output(text, text, True),
        hidden_output=Output(text, text, True),
    )


def page(
    name: str, title: str, clause: str, what: str, why: str, looks: str = "", instead: str = ""
) -> dict[str, str]:
    """The page of a mistake."""
    return {
        "id": name,
        "title": title,
        "clause": clause,
        "what": what,
        "why": why,
        "looks": looks,
        "instead": instead,
    }


def diagnosis(*pages: dict[str, str], message: str, of: int = 17) -> dict[str, Any]:
    """A mistake, or two together."""
    return {
        "ids": [one["id"] for one in pages],
        "title": "; and: ".join(one["title"] for one in pages),
        "clause": pages[0]["clause"],
        "fits": of,
        "of": of,
        "message": message,
        "pages": list(pages),
    }


def influence(examples: int, positions: int) -> dict[str, Any]:
    """Later positions are hidden, and something is wrong with the last one."""
    size = examples * positions

    def sign(changed: int, row: int, causal: bool) -> str:
        if causal and changed == row == size - 1:
            return "?"
        same = changed // positions == row // positions
        return "1" if same and (not causal or changed <= row) else "0"

    def signs(causal: bool) -> list[str]:
        return ["".join(sign(changed, row, causal) for row in range(size)) for changed in range(size)]

    return {
        "argument": "input_ids",
        "shape": [examples, positions],
        "axes": ["N", "T"],
        "obtained": signs(True),
        "expected": signs(False),
        "message": "A token should reach every position of its example.",
    }


NOT_SCALED = page(
    "scores_not_scaled",
    "Scores are not divided",
    "scores",
    "The products of queries and keys go into the softmax as they are.",
    "A product of two rows with d_head features grows with d_head. Dividing by sqrt(d_head) makes up for\n"
    "that; without it, the weights of a row lean too much towards its largest score.",
    "scores = q @ k.swapaxes(-1, -2)",
    "d_head = D // num_heads\nscores = q @ k.swapaxes(-1, -2) / np.sqrt(d_head)",
)
BY_WIDTH = page(
    "scaled_by_model_width",
    "Scores are divided by sqrt(D) instead of sqrt(d_head)",
    "scores",
    "The root is taken of all D features, although each head multiplies rows of only D / num_heads.",
    "With more than one head the scores come out too small and the weights too even.\n\n"
    "With one head you don't notice, since then d_head is D.",
    "scores = q @ k.swapaxes(-1, -2) / np.sqrt(D)",
    "scores = q @ k.swapaxes(-1, -2) / np.sqrt(D // num_heads)",
)
LATER_HIDDEN = page(
    "causal_mask",
    "Later positions are hidden",
    "attention",
    "A triangular mask keeps each position from attending to those after it.",
    "This encoder reads in both directions: the statement has no mask of any kind.",
    "scores = np.where(np.tril(np.ones((T, T))) == 1, scores, -1e9)",
    "probs = softmax(scores)  # no mask before it",
)
CHANGED = page(
    "x_overwritten",
    "w_emb is changed in place",
    "inputs",
    "+= writes into the array that the caller owns.",
    "The next call gets other weights than it was given.",
    "x = w_emb[ids]; w_emb += 1",
    "x = w_emb[ids] + pos_embed",
)
RAISED = page(
    "raised",
    "The call raises an exception",
    "shape",
    "Where the exception comes from, its traceback tells, with the last of your lines at the end.",
    "A call that raises has no answer, so nothing can be compared.",
)
EXPLAINED = "This explains the answers of 17 of 17 cases."


def counterexample(**more: Any) -> dict[str, Any]:
    """One that can be worked through on paper."""
    zeros = [[0, 0], [0, 0]]
    one = [[0, 0], [0, 1]]
    plain: dict[str, Any] = {
        "misconception": "scores_not_scaled",
        "clause": "scores",
        "title": "Scores are not divided",
        "dims": {"N": 1, "T": 2, "V": 1, "D": 2, "L": 1, "num_heads": 1},
        "inputs": [
            {"name": "input_ids", "dtype": "int64", "shape": [1, 2], "values": [[0, 0]]},
            {"name": "mask_indicator", "dtype": "float64", "shape": [1, 2], "values": [[1, 0]]},
            {"name": "w_emb", "dtype": "float64", "shape": [1, 2], "values": [[0, 0]]},
            {"name": "pos_embed", "dtype": "float64", "shape": [2, 2], "values": [[0, 1], [0, 0]]},
            {
                "name": "blocks_weights",
                "dtype": "float64",
                "shape": [1, 6, 2, 2],
                "values": [[one, one, one, [[1, 0], [0, 1]], zeros, zeros]],
            },
            {"name": "w_head", "dtype": "float64", "shape": [2, 1], "values": [[0], [1]]},
            {"name": "num_heads", "value": 1},
        ],
        "obtained": [[1.8807970779778824]],
        "expected": [[1.6697615493266569]],
        "message": "",
        "snippet": "import numpy as np\nfrom solution import mlm_forward\n\n"
        "input_ids = np.array([[0, 0]])\nmask_indicator = np.array([[1, 0]], dtype=np.float64)\n"
        "w_emb = np.zeros((1, 2))\npos_embed = np.array([[0, 1], [0, 0]], dtype=np.float64)\n"
        "print(mlm_forward(input_ids, mask_indicator, w_emb, pos_embed, blocks_weights, w_head, 1))\n",
        "trace": {
            "step": "scale_scores",
            "title": "The scores, divided by the root of d_head",
            "obtained": [[[[1.0, 0.0], [0.0, 0.0]]]],
            "expected": [[[[0.70710678, 0.0], [0.0, 0.0]]]],
            "times": 1,
        },
    }
    return plain | more


def diagnosed() -> Result:
    """One mistake explains everything, and all there is to show of it is shown."""
    return replace(
        failing(),
        diagnoses=(diagnosis(NOT_SCALED, message=EXPLAINED),),
        counterexample=counterexample(),
        influence=influence(2, 4),
    )


def paired() -> Result:
    """Two mistakes together, an argument that is changed beside, and an example that raises."""
    raised = {"obtained": None, "message": "raised IndexError in line 7: index 3 is out of bounds for <ids>"}
    return replace(
        failing(),
        diagnoses=(
            diagnosis(NOT_SCALED, LATER_HIDDEN, message=f"Together: {EXPLAINED}"),
            diagnosis(CHANGED, message="w_emb is changed by a call.", of=0),
        ),
        counterexample=counterexample(**raised, trace=None),
        submission=info("Two at once", "s007"),
    )


def undecided() -> Result:
    """Three mistakes between which the cases can't decide."""
    return replace(
        failing(),
        diagnoses=tuple(diagnosis(p, message=EXPLAINED) for p in (NOT_SCALED, BY_WIDTH, LATER_HIDDEN)),
        submission=info("One of three", "s008"),
    )


def undiagnosed() -> Result:
    """Nothing known explains the answers."""
    return replace(
        failing(),
        undiagnosed="No known mistake, nor two together, was found to explain all of these answers.",
        counterexample=counterexample(misconception="", title="Softmax", clause="softmax"),
        influence=influence(1, 3),
        submission=info("Something new", "s009"),
    )


def raising() -> Result:
    """The verdict is explained, not the values."""
    return replace(
        failing(),
        diagnoses=(diagnosis(RAISED, message="19 of 30 calls raise ValueError in line 41.", of=0),),
        submission=info("Ray Sing", "s010"),
    )


def every_kind() -> dict[str, Result]:
    """One record of each kind, by name."""
    return {
        "passing": passing(),
        "failing": failing(),
        "not_loadable": not_loadable(),
        "violated": violated(),
        "suspicious": suspicious(),
        "grader_fault": grader_fault(),
        "diagnosed": diagnosed(),
        "paired": paired(),
        "undecided": undecided(),
        "undiagnosed": undiagnosed(),
        "raising": raising(),
        "hostile": hostile(),
    }


def class_of(size: int) -> list[Result]:
    """A class whose members failed this and that."""
    drawn = random.Random(5)
    kinds = [passing(), failing(), not_loadable(), violated(), grader_fault(), suspicious()]
    results = []
    for at in range(size):
        kind = drawn.choices(kinds, [12, 0, 1, 1, 0.4, 0.5])[0] if drawn.random() < 0.6 else None
        if kind is None:
            changes = {
                c.id: replace(c, verdict="wrong_value", points=0.0)
                for c in cases()
                if drawn.random() < (0.3 if c.clause in ("softmax", "heads", "range") else 0.08)
            }
            kind = result(changes, message="Some checks did not pass.")
        first, last = (
            drawn.choice(["Ada", "Émile", "Chen", "Zoë", "Kofi"]),
            drawn.choice(["Stone", "Okafor", "Li"]),
        )
        who = info(f"{first} {last} {at}", f"s{at:04d}")
        results.append(replace(kind, submission=who, timing=Timing(0.02 + drawn.random() / 20, 0.01)))
    return results


def twins_of_three() -> list[Result]:
    """Three that have the same text, two of them the same file."""
    return [
        replace(failing(), submission=replace(info(name, name), digest=digest, alike="same", late=True))
        for name, digest in (("ann", "1"), ("bob", "1"), ("cem", "2"))
    ]


def changed_result(name: str = "ann") -> dict[str, Any]:
    """What another pack has changed of one submission."""
    side = {"pack": "sha256:0123456789abcdef", "status": "failed", "score": 1.5, "max_score": 20.0}
    return {
        "id": name,
        "name": name,
        "before": side,
        "after": {**side, "score": 3.25, "status": "failed"},
        "cases": [{"id": "one_case", "before": "wrong_value", "after": ""}],
        "anew": True,
    }
