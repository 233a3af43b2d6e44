"""The command line where nothing is measured: usage, exit codes, forms of output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from campaign_files import Document, a_campaign_file, a_campaign_folder
from equipoise_operator import cli
from equipoise_operator.exit_codes import ExitCode
from equipoise_protocol.verdict import Verdicts
from ledger_builders import two_class_campaign, whole_campaign

COMMANDS = ("run", "plan", "lint", "status", "report", "verify", "compare", "export", "version")


def spoil(campaign: Document) -> None:
    campaign["spec"]["design"]["blocks"] = 0
    campaign["spec"]["question"] = ""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finished(here: Path) -> Path:
    """The folder of a finished campaign where `equipoise run` would have put it."""
    return a_campaign_folder(here / "equipoise-out" / "gelu-strawman", whole_campaign())


def test_help_names_every_command_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(f" {command} " in shown for command in COMMANDS)
    assert all(f"{code.value} " in shown for code in ExitCode)
    assert "a null result is not an error" in shown


def test_help_and_completion_load_nothing_heavy() -> None:
    program = (
        "import sys; import equipoise_operator.cli as cli;"
        "cli.main(['--help']); cli.main(['version']);"
        "heavy = {'torch', 'matplotlib', 'pyarrow', 'numpy', 'scipy', 'sqlalchemy', 'alembic'};"
        "sys.exit(f'loaded: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def test_no_command_loads_torch_or_the_extras_before_it_needs_them() -> None:
    program = (
        "import sys, pkgutil, importlib; from equipoise_operator.commands import work;"
        "names = [one.name for one in pkgutil.iter_modules(work.__path__, work.__name__ + '.')];"
        "assert len(names) > 5; [importlib.import_module(name) for name in names];"
        "heavy = {'torch', 'matplotlib', 'pyarrow'};"
        "sys.exit(f'loaded: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["measure"],
        ["run"],
        ["run", "--colour", "blue", "x.yaml"],
        ["run", "nothing.yaml"],
        ["lint", "nothing.yaml"],
        ["plan", "--pilot-blocks", "-1", "x.yaml"],
        ["status"],
        ["status", "nowhere"],
        ["report", "nowhere"],
        ["verify", "nowhere"],
        ["verify", "--head", "seven"],
        ["export", "nowhere"],
        ["compare", "one"],
        ["compare", "one", "two"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("here")
def test_wrong_usage_ends_with_2_and_a_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.strip()
    assert "Traceback" not in shown.err


@pytest.mark.parametrize("command", ["run", "plan", "lint"])
def test_every_command_that_reads_a_file_lists_all_of_its_faults_and_writes_nothing(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(here, spoil)
    assert cli.main([command, file.name]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "small.yaml:6:3 spec.question" in shown.err
    assert "spec.design.blocks" in shown.err
    assert shown.err.endswith("2 faults in small.yaml; nothing was written.\n")
    assert [path.name for path in here.iterdir()] == ["small.yaml"]


def test_faults_as_json_are_one_document_on_standard_output(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(here, spoil)
    assert cli.main(["lint", file.name, "--output", "json"]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert shown.err == ""
    found = json.loads(shown.out)
    assert found["version"] == 1
    assert [fault["path"] for fault in found["faults"]] == ["spec.question", "spec.design.blocks"]
    assert set(found["faults"][0]) == {
        *("line", "column", "document", "path", "found", "expected", "remedy"),
    }


def test_lint_says_what_is_in_a_file_without_faults(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lint", a_campaign_file(here).name]) == 0
    assert capsys.readouterr().out == (
        "small.yaml: no faults. 1 comparison with 2 arms on 1 node class, 6 blocks each.\n"
    )


@pytest.mark.parametrize("command", ["run", "plan"])
def test_without_torch_one_line_says_what_to_install(
    command: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.main([command, a_campaign_file(here).name]) == ExitCode.ERROR
    shown = capsys.readouterr()
    assert shown.err == (
        "error: Measuring kernels needs PyTorch: pip install 'equipoise[kernel]'\n"
    )
    assert not (here / "equipoise-out").exists()


def test_without_pyarrow_one_line_says_what_to_install(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert cli.main(["export", "--format", "parquet", "-o", "x.parquet"]) == ExitCode.ERROR
    shown = capsys.readouterr()
    assert shown.err.startswith("error: Parquet needs pyarrow")
    assert shown.err.count("\n") == 1
    assert finished.is_dir()


def test_plan_without_a_pilot_measures_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_campaign_file(here)
    assert cli.main(["plan", file.name, "--no-pilot", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["blocks"], found["prediction"]) == (6, None)
    # 2 / 2^6: the smallest two-sided p of a sign-flip test on six blocks.
    assert found["smallestReachableP"] == 0.03125


@pytest.mark.usefixtures("finished")
def test_status_finds_the_only_campaign_and_shows_its_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["status"]) == 0
    head, columns, row = capsys.readouterr().out.splitlines()
    assert head == "gelu-strawman: complete"
    assert columns.split()[0] == "comparison"
    assert row.split()[:5] == ["gelu", "cpu", "8/8", "0", "Improvement"]


@pytest.mark.usefixtures("finished")
def test_status_as_json_has_a_row_for_each_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    [question] = found["questions"]
    assert found["complete"] is True
    assert question["verdict"] == "Improvement"
    assert question["honestRatio"]["low"] <= question["honestRatio"]["estimate"]


def test_several_campaigns_to_choose_from_are_named(
    here: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = a_campaign_folder(here / "equipoise-out" / "other", two_class_campaign())
    assert cli.main(["status"]) == ExitCode.USAGE
    shown = capsys.readouterr().err
    assert finished.name in shown
    assert other.name in shown


def test_a_campaign_without_its_secret_revealed_is_under_way(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_campaign_folder(here / "way", two_class_campaign())
    assert cli.main(["status", "way"]) == 0
    assert "under way" in capsys.readouterr().out


@pytest.mark.usefixtures("finished")
def test_report_writes_both_forms_into_the_campaign_s_folder(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", "--output", "json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert set(written) == {"html", "markdown"}
    assert (finished / "report.html").read_text().lower().startswith("<!doctype html>")
    assert (finished / "report.md").read_text().startswith("# ")


@pytest.mark.usefixtures("finished")
def test_report_writes_one_form_where_it_is_told_to(here: Path) -> None:
    assert cli.main(["report", "--format", "markdown", "-o", "mine.md"]) == 0
    assert (here / "mine.md").read_text().startswith("# ")


@pytest.mark.usefixtures("finished")
def test_a_place_that_can_t_be_written_is_an_error_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["report", "-o", "no/such/folder/x.html"]) == ExitCode.ERROR
    assert "can't be written: No such file" in capsys.readouterr().err


def test_compare_prints_the_ratios_of_each_campaign(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for name in ("a", "b"):
        folder = a_campaign_folder(here / name, whole_campaign())
        verdicts = verdicts_in(folder)
        (folder / "verdicts.json").write_text(verdicts.model_dump_json(by_alias=True))
        names.append(name)
    assert cli.main(["compare", *names]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["comparison", "node", "class", "a", "b"]
    assert row.count("Improvement") == 2
    assert cli.main(["compare", *names, "--output", "json"]) == 0
    [question] = json.loads(capsys.readouterr().out)["questions"]
    assert [one["verdict"] for one in question["verdicts"]] == ["Improvement", "Improvement"]


def verdicts_in(folder: Path) -> Verdicts:
    from equipoise_operator.campaign.results import verdicts_of  # noqa: PLC0415
    from equipoise_operator.report.data import gather  # noqa: PLC0415
    from equipoise_operator.stores.sqlite.opening import open_ledger  # noqa: PLC0415

    with open_ledger(folder / "ledger.sqlite3", read_only=True) as ledger:
        return verdicts_of(gather(ledger))


def test_verify_ends_with_4_where_a_ledger_does_not_recompute(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Its protocol's digest is made up, which the installed program can't know.
    assert cli.main(["verify", str(finished)]) == ExitCode.FAULT_FOUND
    shown = capsys.readouterr().out
    assert shown.startswith("first fault: R")
    assert cli.main(["verify", str(finished), "--output", "json"]) == ExitCode.FAULT_FOUND
    assert json.loads(capsys.readouterr().out)["faults"]


def test_version_names_program_and_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["version", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == metadata.version("equipoise")
    assert found["protocolDigest"].startswith("sha256:")


def test_a_folder_is_no_ledger(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "ledger.sqlite3").write_text("not a database, but long enough to be looked at\n" * 99)
    for command in ("status", "verify", "report", "export"):
        assert cli.main([command, "."]) == ExitCode.ERROR
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["equipoise", "kubectl-equipoise"])
def test_both_names_are_installed(name: str) -> None:
    scripts = metadata.entry_points(group="console_scripts")
    [script] = [one for one in scripts if one.name == name]
    loaded: Callable[[], int] = script.load()
    assert loaded is cli.main
