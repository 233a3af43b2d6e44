"""A campaign file with faults: all of them at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import PROBLEM
from campaign_files import a_campaign_file
from equipoise_operator import campaign_file
from equipoise_operator.campaign_faults import FaultyFileError
from equipoise_operator.commands import faults
from equipoise_operator.commands.terminal import Output
from equipoise_operator.errors import UsageError
from equipoise_operator.stores.artefacts import ArtefactFolder

GOLDEN = Path(__file__).parents[1] / "golden"


def load(file: Path) -> campaign_file.LoadedCampaign:
    artefacts = ArtefactFolder(file.parent / "artefacts")
    return campaign_file.load(file, read_artefact=artefacts.get)


def test_an_honest_file_is_loaded_with_the_text_of_every_source(tmp_path: Path) -> None:
    loaded = load(a_campaign_file(tmp_path))
    assert loaded.parsed.campaign.metadata.name == "small"
    assert set(loaded.contents) == {("gelu", ""), ("gelu", "library"), ("gelu", "by-hand")}
    assert loaded.contents["gelu", ""] == PROBLEM


def test_every_fault_of_a_file_is_shown_once_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (GOLDEN / "faulty.yaml").read_text()
    (tmp_path / "faulty.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FaultyFileError) as caught:
        load(Path("faulty.yaml"))
    faults.show(caught.value, Output.TEXT)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (GOLDEN / "faulty.txt").read_text()
    places = [(one.fault.document, one.fault.path, one.fault.found) for one in caught.value.faults]
    assert len(set(places)) == len(places)


def test_unreadable_sources_are_listed_beside_faults_of_the_spec(tmp_path: Path) -> None:
    def spoil(campaign: dict[str, object]) -> None:
        spec = campaign["spec"]
        assert isinstance(spec, dict)
        spec["design"]["blocks"] = 1
        arms = spec["comparisons"][0]["arms"]
        arms[0]["kernel"]["source"] = {"path": str(tmp_path / "nothing.py")}
        arms[1]["kernel"]["source"] = {"artefact": "sha256:" + "0" * 64}

    with pytest.raises(FaultyFileError) as caught:
        load(a_campaign_file(tmp_path, spoil))
    assert [one.fault.path for one in caught.value.faults] == [
        "spec.comparisons[0].arms[0].kernel.source",
        "spec.comparisons[0].arms[1].kernel.source",
        "spec.design.blocks",
    ]


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read: No such file"):
        load(tmp_path / "nothing.yaml")


def test_a_syntax_error_is_a_fault_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("kind: [Campaign\n")
    with pytest.raises(FaultyFileError) as caught:
        load(file)
    [located] = caught.value.faults
    assert (located.position.line, located.position.column) == (2, 1)


@pytest.mark.parametrize("name", ["../../elsewhere", "UPPER", "", "a" * 41])
def test_a_name_that_is_no_name_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    def rename(campaign: dict[str, object]) -> None:
        campaign["metadata"] = {"name": name}

    assert campaign_file.campaign_name(a_campaign_file(tmp_path, rename)) is None
