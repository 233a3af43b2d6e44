"""The shape of the tree: what is a package, what is not, and what a package's `__init__` holds."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    ROOT / "protocol" / "equipoise_protocol",
    ROOT / "runner_image" / "equipoise_runner",
    ROOT / "operator" / "equipoise_operator",
)
TOP_LEVEL = ("protocol", "runner_image", "operator", "crds", "charts", "examples", "docs", "tests")
VAGUE = {"utils", "util", "helpers", "common", "manager", "misc"}
SHADOWING = {"statistics", "operator", "types", "queue", "profile"}


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in package.rglob("*.py")]


@pytest.mark.parametrize("folder", TOP_LEVEL)
def test_no_top_level_folder_is_a_package(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()


def test_the_tests_have_no_init_anywhere() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_operator_is_the_standard_librarys_when_started_from_the_root() -> None:
    # `python -c` puts the working directory first on the path, as `python -m pytest` does.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.add(2, 3))"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.stdout.strip(), found.returncode) == ("5", 0), found.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_an_init_holds_a_docstring_and_nothing_else(package: Path) -> None:
    # A name imported here would load the judging modules into the process beside the candidate,
    # and the import contracts would not see it.
    for init in package.rglob("__init__.py"):
        tree = ast.parse(init.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{init} says nothing"
        assert len(tree.body) == 1, f"{init} holds more than a docstring"


def test_every_folder_of_tests_belongs_to_one_tier() -> None:
    # A folder that no tier names would never be run, and nothing would say so.
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    unit = {Path(path) for path in settings["tool"]["pytest"]["ini_options"]["testpaths"]}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    servers = {Path("tests/api"), Path("tests/e2e")}
    assert all(f"pytest {folder} " in makefile for folder in servers)
    found = {
        Path(*path.relative_to(ROOT).parts[:2]) for path in (ROOT / "tests").rglob("test_*.py")
    }
    assert found == unit | servers


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in modules() if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing_or_shadows() -> None:
    names = {path: path.stem for path in modules()}
    assert [path for path, name in names.items() if name in VAGUE | SHADOWING] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_each_package_says_that_it_is_typed(package: Path) -> None:
    assert (package / "py.typed").is_file()


def test_the_lock_names_the_public_index_and_no_mirror() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    hosts: set[str | None] = set()
    for package in lock["package"]:
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        hosts |= {urlparse(file["url"]).hostname for file in files}
        if registry := package["source"].get("registry"):
            hosts.add(urlparse(registry).hostname)
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
