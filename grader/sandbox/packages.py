"""Where the packages lie that submissions may use."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# What each kind of server loads, from the lightest to the heaviest; each has what the ones before it have.
SERVER_KINDS: Mapping[str, tuple[str, ...]] = {
    "numpy": (),
    "scipy": ("scipy.special", "scipy.linalg"),
    "torch": ("torch",),
}
KINDS = tuple(SERVER_KINDS)
# What numpy and scipy import beside each other and the standard library: nothing.
SELF_CONTAINED = ("numpy", "scipy")


@dataclass(frozen=True)
class Located:
    """Folders and files of packages.

    Attributes:
        paths: The folders from which they are imported.
        readable: Their own folders and files, and those of what they depend on.
    """

    paths: list[str]
    readable: list[str]


@dataclass(frozen=True)
class Share:
    """What of an exercise's packages a server of one kind has.

    Attributes:
        loaded: The kinds whose modules it loads.
        here: The packages that can be imported in it.
        elsewhere: Those that are loaded in a heavier kind of server.
    """

    loaded: list[str]
    here: list[str]
    elsewhere: list[str]


def share(kind: str, packages: Sequence[str]) -> Share:
    """Divide an exercise's packages between a kind of server and the heavier ones."""
    heavier = KINDS[KINDS.index(kind) + 1 :]
    return Share(
        [k for k in KINDS if k not in heavier and k in packages and installed(k)],
        [name for name in packages if name not in heavier],
        [k for k in heavier if k in packages],
    )


def installed(package: str) -> bool:
    """Whether a package can be imported on this machine, without importing it."""
    return importlib.util.find_spec(package) is not None


def locate(names: Sequence[str]) -> Located:
    """Find packages on this machine; those that are not installed are left out."""
    paths: dict[str, None] = {}
    readable: dict[str, None] = {}
    for name in names:
        for place in _places(name):
            paths[str(place.parent)] = None
            readable[str(place)] = None
            # Where wheels put the shared libraries that they bring.
            readable[str(place.with_name(f"{place.name}.libs"))] = None
    for name in _depended_on(n for n in names if n not in SELF_CONTAINED):
        for place in _places(name):
            readable[str(place)] = None
    return Located(list(paths), list(readable))


def _places(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.has_location and spec.origin else []


def _depended_on(packages: Iterable[str]) -> list[str]:
    """Import names of everything that the packages' distributions need, directly or not, extras left out."""
    waiting = list(packages)
    if not waiting:
        return []
    # Slow to import, and the commonest packages don't need it.
    import re
    from importlib import metadata

    found: dict[str, None] = {}
    seen: set[str] = set()
    while waiting:
        distribution = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if distribution in seen:
            continue
        seen.add(distribution)
        try:
            told = metadata.distribution(distribution)
        except (metadata.PackageNotFoundError, ValueError):
            continue
        for line in (told.read_text("top_level.txt") or "").split():
            found[line] = None
        for file in told.files or ():
            top = file.parts[0]
            if top.endswith(".py"):
                found[top.removesuffix(".py")] = None
            elif len(file.parts) == 2 and file.name == "__init__.py":
                found[top] = None
        for requirement in told.requires or ():
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])
    return [name for name in found if name.isidentifier()]
