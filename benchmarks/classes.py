"""The submissions that are measured: classes made of the worked examples."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "submissions" / "mlm_forward"


def texts(kind: str) -> list[str]:
    """The worked submissions that need only numpy, or those that import torch."""
    found = []
    for path in sorted(EXAMPLES.glob("*.py")):
        text = path.read_text("utf-8")
        needs_torch = "import torch" in text
        if needs_torch == (kind == "torch") and "scipy" not in text:
            found.append(text)
    return found


def write(folder: Path, size: int, kind: str) -> None:
    """A class of different files."""
    plain = texts(kind)
    for number in range(size):
        text = plain[number % len(plain)]
        (folder / f"s{number:05d}.py").write_text(f"{text}\n# student {number}\n", "utf-8")
