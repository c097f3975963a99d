"""Where packages lie: what a submission may read of the installed ones, and nothing else."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from grader.sandbox.packages import KINDS, installed, locate, share


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not installed(package), reason=f"{package} is not installed")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, found before the others."""
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def distribution(
    site: Path, name: str, files: list[str], requires: list[str], top: str | None = None
) -> None:
    """Install a distribution of empty files, as pip leaves it."""
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("")
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
    lines += [f"Requires-Dist: {text}" for text in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n\n")
    record = [*files, "../../bin/a_script", f"{info.name}/METADATA"]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in record))
    if top is not None:
        (info / "top_level.txt").write_text(top)


def test_a_package_is_its_folder_and_the_shared_libraries_that_it_brings(site: Path) -> None:
    distribution(site, "alpha_one", ["alpha_one/__init__.py", "alpha_one.libs/libx.so"], [])
    found = locate(["alpha_one"])
    assert found.paths == [str(site)]
    assert {str(site / "alpha_one"), str(site / "alpha_one.libs")} <= set(found.readable)
    # Never the folder that holds all of them.
    assert str(site) not in found.readable


def test_a_module_that_is_one_file_is_that_file(site: Path) -> None:
    distribution(site, "alpha_two", ["alpha_two.py", "alpha_other.py"], [])
    found = locate(["alpha_two"])
    assert found.paths == [str(site)] and str(site / "alpha_two.py") in found.readable
    existing = [path for path in found.readable if Path(path).exists()]
    # What one distribution brings is one thing.
    assert set(existing) == {str(site / "alpha_two.py"), str(site / "alpha_other.py")}


def test_a_package_without_an_init_has_all_its_folders(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    monkeypatch.syspath_prepend(other)
    for folder in (site, other):
        (folder / "alpha_spread").mkdir()
        (folder / "alpha_spread" / f"{folder.name}.py").write_text("")
    found = locate(["alpha_spread"])
    assert set(found.paths) == {str(site), str(other)}
    assert {str(site / "alpha_spread"), str(other / "alpha_spread")} <= set(found.readable)


@pytest.mark.parametrize("name", ["alpha_missing", "alpha_missing.part", ".", "sys", "builtins"])
def test_what_is_not_there_as_files_is_left_out(site: Path, name: str) -> None:
    assert locate([name]) == locate([])
    assert locate([]).paths == locate([]).readable == []


def test_what_a_package_depends_on_is_readable_and_not_importable_by_itself(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    monkeypatch.syspath_prepend(other)
    distribution(
        other,
        "alpha",
        ["alpha/__init__.py"],
        ["Beta.Pkg>=1.0", "delta (<3,>=2); python_version > '3'", "epsilon; extra == 'more'", "alpha_gone"],
    )
    distribution(site, "beta-pkg", ["beta/__init__.py", "beta/part.py", "beta.libs/y.so"], ["gamma[x]~=1.0"])
    # A ring, a module of one file, and a distribution that says its names itself.
    distribution(site, "gamma", ["gamma.py"], ["alpha", "beta_pkg"])
    distribution(site, "delta", ["delta/__init__.py", "_delta_inner/a.so"], [], "delta\n_delta_inner\n")
    distribution(site, "epsilon", ["epsilon.py"], [])
    distribution(site, "zeta", ["zeta/__init__.py"], ["alpha"])
    found = locate(["alpha"])
    assert found.paths == [str(other)]
    existing = {Path(path).name for path in found.readable if Path(path).exists()}
    assert {"alpha", "beta", "gamma.py", "delta", "_delta_inner"} <= existing
    assert not {"epsilon.py", "zeta"} & existing


def test_numpy_brings_its_libraries_and_nothing_else() -> None:
    found = locate(["numpy"])
    spec = importlib.util.find_spec("numpy")
    assert spec is not None and spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    assert found.paths == [str(Path(folder).parent)]
    assert set(found.readable) == {folder, f"{folder}.libs"}


@needs("scipy")
def test_scipy_is_read_beside_numpy() -> None:
    assert {Path(p).name for p in locate(["numpy", "scipy"]).readable} == {
        "numpy",
        "numpy.libs",
        "scipy",
        "scipy.libs",
    }


@needs("torch")
def test_torch_brings_all_that_it_imports_and_not_what_lies_beside_it() -> None:
    names = {Path(p).name for p in locate(["torch"]).readable}
    assert {"torch", "torchgen", "sympy", "mpmath", "networkx", "jinja2", "typing_extensions.py"} <= names
    assert not {"grader", "reference", "pytest", "hypothesis", "pydantic", "pip", "site-packages"} & names


def test_a_kind_of_server_has_its_packages_and_knows_of_the_heavier_ones() -> None:
    packages = ["numpy", "six", *(k for k in KINDS if k != "numpy" and installed(k))]
    for number, kind in enumerate(KINDS):
        if kind not in packages:
            continue
        found = share(kind, packages)
        heavier = [k for k in KINDS[number + 1 :] if k in packages]
        assert found.elsewhere == heavier
        assert found.here == [p for p in packages if p not in KINDS[number + 1 :]]
        assert found.loaded == [k for k in KINDS[: number + 1] if k in packages]
    assert share("numpy", ["numpy"]).elsewhere == []


def test_what_is_not_installed_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.packages.installed", lambda package: package == "numpy")
    found = share("torch", list(KINDS))
    assert found.loaded == ["numpy"] and found.here == list(KINDS) and found.elsewhere == []
