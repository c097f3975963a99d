"""The zip that a teacher uploads to Gradescope as the autograder of an assignment.

It holds ``setup.sh`` and ``run_autograder`` at its top, as the platform asks
(https://gradescope-autograders.readthedocs.io/en/latest/specs/), the exercise's pack, the grader's own
modules and the list of packages to be installed. The grader is taken from where it runs, so nothing has to be
published before; the platform installs the packages once, when it builds its image.

Gradescope runs a container as root, perhaps without user namespaces. There the levels ``full`` (Landlock and
seccomp) and ``partial`` (seccomp, with which no file can be opened) both keep the pack and the results from a
submission. With neither, a submission could read hidden cases and write its own results, so
``run_autograder`` refuses, and says so without a score, unless the bundle is made with
``allow_weak_isolation``. The level is in every result.
"""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

import grader
from grader.errors import GraderError
from grader.report import zips
from grader.report.exports.autograde import PACK, SETTINGS
from grader.report.exports.base import Exported, Visibility, unwritable

PACKAGE = Path(grader.__file__).parent
SCRIPTS = Path(__file__).parent / "gradescope_files"
DISTRIBUTION = "mlm-grader"
# Gradescope ends a run after ten minutes, unless the assignment allows more, and gives it a 0.
SECONDS = 540
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?")


def write_bundle(
    out: Path,
    pack: bytes,
    packages: Sequence[str] = (),
    *,
    hidden: Visibility = "visible",
    allow_weak_isolation: bool = False,
    seconds: int = SECONDS,
) -> Exported:
    """Write the bundle.

    Args:
        out: The zip file.
        pack: The exercise's pack as a file holds it, with the hidden cases.
        packages: What a submission may import beside the standard library, by the names it imports.
        hidden: When students see the lines of hidden checks, which tell clause and verdict only.
        allow_weak_isolation: Run submissions where nothing keeps them from the pack and the results.
        seconds: After how long a run is ended, and told to be a fault of the grader.

    Raises:
        GraderError: It can't be written, or what the grader needs is not known.
    """
    settings = {
        "version": grader.__version__,
        "isolation": "none" if allow_weak_isolation else "partial",
        "hidden": hidden,
        "seconds": seconds,
    }
    needed = list(requirements(packages))
    new = out.with_name(f".{out.name}.new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("setup.sh", "run_autograder"):
                zips.add(archive, name, (SCRIPTS / name).read_bytes(), 0o755)
            zips.add(archive, "requirements.txt", ("\n".join(needed) + "\n").encode())
            zips.add(archive, SETTINGS, (json.dumps(settings, indent=1) + "\n").encode())
            zips.add(archive, PACK, pack)
            for path in _modules():
                zips.add(archive, f"grader/{path.relative_to(PACKAGE).as_posix()}", path.read_bytes())
        new.replace(out)
    except OSError as error:
        raise unwritable(out, error) from None
    warnings = []
    if any(line.startswith("torch") for line in needed):
        warnings.append(
            "the exercise allows torch, which makes a large image: name a build for CPUs in the bundle's "
            "requirements.txt, and give the container 2 GB of memory or more"
        )
    if allow_weak_isolation:
        warnings.append(
            "this bundle also runs where nothing keeps a submission from the hidden cases and from its own "
            "results"
        )
    return Exported((out,), tuple(warnings))


def _modules() -> Iterator[Path]:
    """The grader's files, without what was compiled and without packs of other exercises."""
    for path in sorted(PACKAGE.rglob("*")):
        parts = path.relative_to(PACKAGE).parts
        if (
            path.is_file()
            and parts[0] != "packs"
            and not any(p[0] == "." or p == "__pycache__" for p in parts)
        ):
            yield path


def requirements(packages: Iterable[str] = ()) -> Iterator[str]:
    """What has to be installed, in the versions that are installed here.

    Args:
        packages: Names under which packages are imported.

    Raises:
        GraderError: What the grader needs is not known.
    """
    found: dict[str, str] = {}
    for line in _declared():
        match = _REQUIREMENT.fullmatch(line)
        if match is None:
            continue
        name, _, specifier, marker = match.groups()
        if marker is None or re.search(r"extra\s*==\s*['\"]notebooks['\"]", marker):
            found[_normal(name)] = _pinned(name, specifier)
    distributions = metadata.packages_distributions()
    for package in packages:
        name = distributions.get(package, [package])[0]
        found.setdefault(_normal(name), _pinned(name, ""))
    yield from found.values()


def _declared() -> list[str]:
    """The requirements of the grader, with those of its extra for notebooks."""
    project = PACKAGE.parent / "pyproject.toml"
    if project.is_file():
        # A checkout may be newer than what was installed from it.
        declared = tomllib.loads(project.read_text("utf-8")).get("project", {})
        if declared.get("name") == DISTRIBUTION:
            notebooks = declared.get("optional-dependencies", {}).get("notebooks", ())
            return [*declared.get("dependencies", ()), *(f"{n}; extra == 'notebooks'" for n in notebooks)]
    try:
        return list(metadata.requires(DISTRIBUTION) or ())
    except metadata.PackageNotFoundError:
        raise GraderError(
            f"what the grader needs is not known here: install {DISTRIBUTION} with pip, or run it from a "
            "checkout"
        ) from None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pinned(name: str, specifier: str) -> str:
    """The version that is installed here, without the name of a local build; else what is asked for."""
    try:
        return f"{name}=={metadata.version(name).partition('+')[0]}"
    except metadata.PackageNotFoundError:
        return f"{name}{specifier}"
