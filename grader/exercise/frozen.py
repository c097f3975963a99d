"""``frozen.json``: what the author's slow run found, reviewed and committed beside the YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import ExerciseError, Problem
from grader.exercise import counterexamples as written
from grader.exercise.counterexamples import Counterexample

SCHEMA = "grader.frozen/1"


@dataclass(frozen=True)
class Descriptor:
    """One drawn case: everything its arrays are made from.

    Attributes:
        dims: Value of each dim.
        seed: Seed of the arrays.
        dtype: Dtype of the float parameters.
        layouts: Memory layout of each array parameter.
        read_only: Whether the arrays arrive read-only.
    """

    dims: dict[str, int]
    seed: int
    dtype: str
    layouts: dict[str, str]
    read_only: bool


@dataclass(frozen=True)
class Measured:
    """What was measured on one case.

    Attributes:
        inputs: SHA-256 of the case's input bytes.
        noise: Largest norm-wise error of the honest float32 runs, relative to the largest magnitude of
            the expected answer; None where a case has no expected value.
        float64_noise: The same for the honest float64 runs.
        run: Name of the run with the largest error.
        tolerance: What is accepted, relative in the same way; None where nothing is compared.
        at_least: For ``differs`` relations, the smallest change that the reference shows.
        reference_time: Processor time of the reference on the case's calls, in workloads (see
            `grader.sandbox.workload`); None where no limit hangs on it.
    """

    inputs: str
    noise: float | None = None
    float64_noise: float | None = None
    run: str | None = None
    tolerance: float | None = None
    at_least: float | None = None
    reference_time: float | None = None


@dataclass(frozen=True)
class Frozen:
    """The content of ``frozen.json``.

    Attributes:
        sources: Digest of the files that it was made from.
        batches: The members of each random batch.
        cases: What was measured on each case.
        search: What counterexamples and ladder were searched with; empty where they were not.
        counterexamples: The smallest input that tells a known mistake, by the mistake's id.
        ladder: Inputs of growing size that tell many mistakes.
        patterns: Ids of the cases that fail with a known mistake, by its id; where answers hang on chance.
        reference_start: What the reference's first call in a process takes longer than later ones, in
            workloads; None where no limit hangs on it.
    """

    sources: str
    batches: Mapping[str, list[Descriptor]]
    cases: Mapping[str, Measured]
    search: str = ""
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict)
    ladder: Sequence[Counterexample] = ()
    patterns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reference_start: float | None = None

    @property
    def timed(self) -> bool:
        """Whether the reference's time is known on every case."""
        times = [measured.reference_time for measured in self.cases.values()]
        return self.reference_start is not None and None not in times

    def dumps(self) -> str:
        """Canonical JSON text, one case or input a line so that a review shows what changed."""

        def line(value: Any) -> str:
            return json.dumps(value, sort_keys=True)

        out = ["{", f'"schema": {line(SCHEMA)},', f'"sources": {line(self.sources)},', '"batches": {']
        batches = []
        for name, descriptors in sorted(self.batches.items()):
            drawn = ",\n".join(line(asdict(d)) for d in descriptors)
            batches.append(f"{line(name)}: [\n{drawn}\n]")
        out += [",\n".join(batches), "},", '"cases": {']
        rows = [
            f"{line(name)}: {line({k: v for k, v in asdict(m).items() if v is not None})}"
            for name, m in sorted(self.cases.items())
        ]
        out += [",\n".join(rows), "},"]
        if self.reference_start is not None:
            out.append(f'"reference_start": {line(self.reference_start)},')
        out += [f'"search": {line(self.search)},', '"counterexamples": {']

        def input_line(example: Counterexample) -> str:
            # Not sorted: arguments stand in the order of the parameters.
            return json.dumps(written.to_plain(example), separators=(",", ":"))

        rows = [f"{line(name)}: {input_line(e)}" for name, e in sorted(self.counterexamples.items())]
        out += [",\n".join(rows), "},", '"ladder": [', ",\n".join(map(input_line, self.ladder))]
        if self.patterns:
            rows = [f"{line(name)}: {line(list(cases))}" for name, cases in sorted(self.patterns.items())]
            out += ["],", '"patterns": {', ",\n".join(rows), "}", "}"]
        else:
            out += ["]", "}"]
        return "\n".join(out) + "\n"


def load(path: Path, shown_as: str) -> Frozen | None:
    """Read ``frozen.json``; None when there is none yet.

    Raises:
        ExerciseError: The file is damaged.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']!r}, expected {SCHEMA!r}")
        return Frozen(
            sources=data["sources"],
            batches={k: [Descriptor(**d) for d in rows] for k, rows in data["batches"].items()},
            cases={k: Measured(**m) for k, m in data["cases"].items()},
            # Files that were written before there were any lack the rest.
            search=data.get("search", ""),
            counterexamples={k: written.from_plain(k, e) for k, e in data.get("counterexamples", {}).items()},
            ladder=[written.from_plain("", e) for e in data.get("ladder", [])],
            patterns=data.get("patterns", {}),
            reference_start=data.get("reference_start"),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = Problem(
            shown_as, 0, "", f"is damaged ({error}); make it anew with: grader validate --write"
        )
        raise ExerciseError([problem]) from None
