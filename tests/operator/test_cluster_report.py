"""`equipoise report --campaign` where there is no cluster; with one it is tried in tests/api."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from equipoise_operator import cli
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.kube.context import current_namespace


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))


def test_without_the_extra_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    assert cli.main(["report", "--campaign", "gelu"]) == ExitCode.ERROR
    said = capsys.readouterr().err
    assert "pip install 'equipoise[cluster]'" in said
    assert len(said.splitlines()) == 1


def test_without_a_kubeconfig_it_says_where_one_belongs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["report", "--campaign", "gelu", "-n", "team"]) == ExitCode.ERROR
    assert "KUBECONFIG" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["-n", "team"], ["--validator", "http://127.0.0.1:1"]])
def test_a_clusters_options_go_with_a_clusters_campaign(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", *option]) == ExitCode.USAGE
    assert "go with --campaign" in capsys.readouterr().err


def test_a_report_of_this_machine_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "equipoise-out" / "gelu"
    folder.mkdir(parents=True)
    (folder / "ledger.sqlite3").touch()
    assert cli.main(["report", "--campaign", "gelu"]) == ExitCode.USAGE
    assert "holds a campaign of this machine" in capsys.readouterr().err


CONTEXTS = """
current-context: work
contexts:
- {name: home, context: {cluster: c, user: u, namespace: other}}
- {name: work, context: {cluster: c, user: u, namespace: team}}
"""


@pytest.mark.parametrize(
    ("content", "namespace"),
    [
        (CONTEXTS, "team"),
        (CONTEXTS.replace(", namespace: team", ""), "default"),
        ("contexts: []", "default"),
        ("{", "default"),
        ("[]", "default"),
    ],
)
def test_the_namespace_is_the_current_contexts(
    content: str, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(content)
    assert current_namespace({"KUBECONFIG": f"{tmp_path / 'absent'}:{file}"}) == namespace
