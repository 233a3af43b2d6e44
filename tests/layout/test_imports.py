"""The import contracts hold, can fail, and agree with what a fresh interpreter really loads."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("protocol", "runner_image", "operator")
# All that the process beside the candidate may know of the protocol: how to be asked and to answer.
RUNNER_MAY_LOAD = {
    "equipoise_protocol",
    "equipoise_protocol.block",
    "equipoise_protocol.canonical",
    "equipoise_protocol.constants",
    "equipoise_protocol.errors",
    "equipoise_protocol.provenance",
    "equipoise_protocol.version",
    "equipoise_protocol.vocabulary",
}
RUNNER_MUST_NOT_LOAD = {"alembic", "jinja2", "matplotlib", "rich", "sqlalchemy", "typer", "yaml"}
EXTRAS_ONLY = ("torch", "pyarrow")


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    path = os.pathsep.join(str(tree / folder) for folder in FOLDERS)
    return subprocess.run(
        [str(program), "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def loaded_after(statements: str) -> set[str]:
    """The modules of a fresh interpreter after it has run the statements."""
    program = f"{statements}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return set(json.loads(found.stdout.splitlines()[-1]))


def test_the_import_contracts_hold() -> None:
    found = lint_imports(ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("module", "fault"),
    [
        ("runner_image/equipoise_runner/planted.py", "import equipoise_protocol.plan"),
        ("runner_image/equipoise_runner/planted.py", "import equipoise_protocol.verdict"),
        ("runner_image/equipoise_runner/planted.py", "import equipoise_operator"),
        ("runner_image/equipoise_runner/planted.py", "import sqlalchemy"),
        ("operator/equipoise_operator/errors.py", "import equipoise_runner"),
        ("operator/equipoise_operator/errors.py", "import sqlite3"),
        ("operator/equipoise_operator/stores/ledger.py", "import sqlite3"),
        ("operator/equipoise_operator/campaign/schedule.py", "import equipoise_operator.local"),
        ("operator/equipoise_operator/local/machine.py", "import equipoise_operator.validator"),
        (
            "operator/equipoise_operator/controller/reconcile.py",
            "import equipoise_operator.stores.port",
        ),
        ("operator/equipoise_operator/controller/reconcile.py", "import time"),
        (
            "operator/equipoise_operator/controller/placing.py",
            "import equipoise_operator.controller.world",
        ),
        ("operator/equipoise_operator/campaign/schedule.py", "import socket"),
        ("operator/equipoise_operator/controller/world.py", "import kopf"),
        ("operator/equipoise_operator/controller/act.py", "import kubernetes.client"),
        ("operator/equipoise_operator/planted.py", ""),
        ("protocol/equipoise_protocol/errors.py", "import os"),
        ("protocol/equipoise_protocol/errors.py", "import time"),
        ("protocol/equipoise_protocol/errors.py", "import random"),
        ("protocol/equipoise_protocol/errors.py", "import torch"),
        ("protocol/equipoise_protocol/errors.py", "import equipoise_protocol.verdict"),
        ("protocol/equipoise_protocol/planted.py", ""),
    ],
)
def test_a_planted_fault_breaks_a_contract(tmp_path: Path, module: str, fault: str) -> None:
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{fault}\n")
    found = lint_imports(tmp_path)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "BROKEN" in found.stdout or "Missing" in found.stdout, found.stdout + found.stderr


@pytest.mark.parametrize(
    "entry",
    sorted((ROOT / "runner_image" / "equipoise_runner").rglob("__main__.py")),
    ids=lambda path: path.parent.name,
)
def test_the_runner_loads_nothing_that_judges(entry: Path) -> None:
    module = ".".join(entry.relative_to(ROOT / "runner_image").with_suffix("").parts)
    loaded = loaded_after(f"import {module}")
    ours = {name for name in loaded if name.split(".")[0] == "equipoise_protocol"}
    assert ours <= RUNNER_MAY_LOAD
    assert not loaded & RUNNER_MUST_NOT_LOAD
    assert "equipoise_operator" not in loaded


def test_the_runner_has_an_entry_point() -> None:
    assert (ROOT / "runner_image" / "equipoise_runner" / "__main__.py").is_file()


def test_the_command_line_and_the_protocol_need_no_extra() -> None:
    # The extras are made unfindable, as they are where only the base is installed.
    loaded_after(
        "import importlib, pkgutil, sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {EXTRAS_ONLY!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import equipoise_protocol, equipoise_operator.cli\n"
        "path = equipoise_protocol.__path__\n"
        "for module in pkgutil.walk_packages(path, 'equipoise_protocol.'):\n"
        "    importlib.import_module(module.name)"
    )


def test_the_command_line_does_not_load_torch_where_it_is_installed() -> None:
    assert not loaded_after("import equipoise_operator.cli") & set(EXTRAS_ONLY)


def imported_by(module: Path) -> set[str]:
    """Top-level names of all that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def normalised(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.mark.parametrize("folder", FOLDERS)
def test_whatever_is_imported_is_a_declared_dependency(folder: str) -> None:
    # A package that only a developer's tool brings along would be missing at a user's.
    requirements = metadata.requires("equipoise") or []
    declared = {normalised(re.split(r"[^\w.-]", line)[0]) for line in requirements}
    distributions = metadata.packages_distributions()
    undeclared = {
        (module.relative_to(ROOT).as_posix(), name)
        for module in (ROOT / folder).rglob("*.py")
        for name in imported_by(module)
        if name not in sys.stdlib_module_names
        and not name.startswith("equipoise_")
        and not declared & {normalised(found) for found in distributions.get(name, [])}
    }
    assert undeclared == set()


def test_the_base_installation_asks_for_no_extra() -> None:
    base = [line for line in metadata.requires("equipoise") or [] if "extra ==" not in line]
    assert base
    assert not [line for line in base if line.startswith(EXTRAS_ONLY)]
