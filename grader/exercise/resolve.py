"""From what a user names to a pack."""

from __future__ import annotations

from pathlib import Path

from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.exercise.cached import cached_pack
from grader.exercise.near import did_you_mean
from grader.exercise.roots import DEFAULT_EXERCISE, exercise_folder, exercises, find_root

CARRIED = Path(__file__).resolve().parents[1] / "packs"


def resolve_pack(exercise: str | None, root: Path | None = None) -> packs.Pack:
    """The pack of an exercise.

    Looked for in this order: a pack file at the path ``exercise``; an exercise of the root folder; a pack
    that is installed with the grader. Without a name it is the only exercise, or ``mlm_forward``.

    Raises:
        GraderError: There is none, or it is at fault.
    """
    if exercise is not None and (exercise.endswith(".pack") or "/" in exercise or Path(exercise).is_file()):
        return packs.load(Path(exercise))
    found = find_root(root)
    if found is not None and (exercise is None or exercise in exercises(found)):
        return cached_pack(found, exercise_folder(found, exercise).name)
    carried = {path.stem: path for path in sorted(CARRIED.glob("*.pack"))}
    name = exercise or (next(iter(carried)) if len(carried) == 1 else DEFAULT_EXERCISE)
    if name in carried:
        return packs.load(carried[name])
    known = sorted({*carried, *(exercises(found) if found else [])})
    if not known:
        raise GraderError(
            "no exercise was found; name a pack with --exercise FILE, or run in a folder that holds cases/ "
            "and reference/, or name that folder with --root"
        )
    raise GraderError(f"no exercise {name!r}{did_you_mean(name, known)}")
