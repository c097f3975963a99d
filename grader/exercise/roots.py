"""Where exercises live: a root folder that holds ``cases/`` and ``reference/``."""

from __future__ import annotations

import os
from pathlib import Path

from grader.errors import GraderError
from grader.exercise.near import did_you_mean

DEFAULT_EXERCISE = "mlm_forward"
# Shows the reference at work.
DEMO = "demo.py"


def find_root(given: Path | None = None) -> Path | None:
    """The root folder: ``given``, else GRADER_ROOT, else the current folder or the nearest parent that
    is one. None when there is none.

    Raises:
        GraderError: ``given`` or GRADER_ROOT holds no ``cases`` folder.
    """
    for chosen, said in ((given, "--root"), (os.environ.get("GRADER_ROOT"), "GRADER_ROOT")):
        if chosen:
            root = Path(chosen)
            if not (root / "cases").is_dir():
                raise GraderError(
                    f"{said} is {root}, which has no folder cases/; name the folder that holds it"
                )
            return root.resolve()
    # An editable install works from any folder.
    checkout = Path(__file__).resolve().parents[2]
    return nearest_root() or (checkout if _is_root(checkout) else None)


def nearest_root() -> Path | None:
    """The current folder or the nearest parent that is a root; None when there is none."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if _is_root(folder)), None)


def require_root(given: Path | None = None) -> Path:
    """The root folder, as `find_root` looks for it. Raises GraderError when there is none."""
    root = find_root(given)
    if root is None:
        raise GraderError(
            "no exercises here; run in a folder that holds cases/ and reference/, or name it with --root"
        )
    return root


def _is_root(folder: Path) -> bool:
    return (folder / "cases").is_dir() and (folder / "reference").is_dir()


def exercises(root: Path) -> list[str]:
    """Names of the exercises in a root, sorted."""
    return sorted(path.parent.name for path in (root / "cases").glob("*/exercise.yaml"))


def exercise_folder(root: Path, name: str | None) -> Path:
    """The ``cases/NAME`` folder of an exercise; without a name the only one, or ``mlm_forward``.

    Raises:
        GraderError: There is no such exercise.
    """
    known = exercises(root)
    if name is None:
        name = known[0] if len(known) == 1 else DEFAULT_EXERCISE
        if name not in known and len(known) > 1:
            raise GraderError(f"there are several exercises ({', '.join(known)}); name one")
    if name not in known:
        if not known:
            raise GraderError(
                f"{root / 'cases'} holds no exercise; expected a folder NAME with exercise.yaml in it"
            )
        raise GraderError(f"no exercise {name!r} in {root / 'cases'}{did_you_mean(name, known)}")
    return root / "cases" / name


def source_files(root: Path, name: str) -> list[Path]:
    """Every file that the pack of an exercise is made from, sorted."""
    cases = root / "cases" / name
    reference = reference_files(root / "reference" / name)
    return [*sorted(cases.glob("*.yaml")), cases / "frozen.json", *reference]


def reference_files(folder: Path) -> list[Path]:
    """The author's modules in ``reference/NAME`` by which answers are right or wrong, sorted.

    ``demo.py`` is none of them: it shows what they do, and changing it leaves every pack as it is.
    """
    return [path for path in sorted(folder.rglob("*.py")) if path != folder / DEMO]
