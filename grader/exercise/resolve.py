"""From what a user names to a pack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.exercise.cached import cached_pack
from grader.exercise.near import did_you_mean
from grader.exercise.roots import DEFAULT_EXERCISE, exercise_folder, exercises, find_root

CARRIED = Path(__file__).resolve().parents[1] / "packs"


def resolve_pack(
    exercise: str | None, root: Path | None = None, *, beside: Sequence[Path] = ()
) -> packs.Pack:
    """The pack of an exercise.

    Looked for in this order: a pack file at the path ``exercise``; an exercise of the root folder; where
    there is no root, a student's pack in a folder of ``beside``; a pack that is installed with the grader.
    Without a name it is the only exercise, or ``mlm_forward``.

    Args:
        exercise: A name, or the path of a pack; None when the user named none.
        root: The root folder, when the user named it.
        beside: What one student works on: files, in whose folders a pack may lie, or such folders. Where
            there are some, a pack may lie in the current folder too.

    Raises:
        GraderError: There is none, or it is at fault.
    """
    if exercise is not None and (exercise.endswith(".pack") or "/" in exercise or Path(exercise).is_file()):
        return packs.load(Path(exercise))
    found = find_root(root)
    if found is not None and (exercise is None or exercise in exercises(found)):
        return cached_pack(found, exercise_folder(found, exercise).name)
    if found is None and beside and (local := _beside(exercise, beside)) is not None:
        return local
    carried = {path.stem: path for path in sorted(CARRIED.glob("*.pack"))}
    name = exercise
    if name is None:
        name = next(iter(carried)) if len(carried) == 1 else DEFAULT_EXERCISE
    if name in carried:
        return packs.load(carried[name])
    known = sorted({*carried, *(exercises(found) if found else [])})
    if not known:
        raise GraderError(
            "no exercise was found; name a pack with --exercise FILE, or run in a folder that holds cases/ "
            "and reference/, or name that folder with --root"
        )
    raise GraderError(f"no exercise {name!r}{did_you_mean(name, known)}")


def _beside(exercise: str | None, paths: Sequence[Path]) -> packs.Pack | None:
    """The pack of a hand-out: in the folders of what is checked, else in the current folder.

    A pack with hidden cases is none of a hand-out, so it must be named. Of several in a folder the one with
    the name of the file is meant.
    """
    for places in (paths, [Path()]):
        found: dict[str, tuple[Path, packs.Pack]] = {}
        for path in places:
            for file, pack in _student_packs(exercise, path):
                found.setdefault(pack.id, (file, pack))
        if len(found) > 1:
            names = ", ".join(str(file) for file, _ in found.values())
            raise GraderError(f"there are several packs: {names}; name one with --exercise")
        if found:
            return next(iter(found.values()))[1]
    return None


def _student_packs(exercise: str | None, path: Path) -> Iterator[tuple[Path, packs.Pack]]:
    """The students' packs in a folder, or in that of a file, which may be meant."""
    folder = path if path.is_dir() else path.parent
    files = {one.stem: one for one in sorted(folder.glob("*.pack")) if one.is_file()}
    name = exercise if exercise is not None else path.stem
    if exercise is not None or name in files:
        files = {name: files[name]} if name in files else {}
    for file in files.values():
        pack = _student_pack(file)
        if pack is not None:
            yield file, pack


def _student_pack(path: Path) -> packs.Pack | None:
    """A student's pack; None where a file is another one, or none of the grader's at all."""
    try:
        pack = packs.load(path)
    except GraderError:
        return None
    return pack if pack.student else None
