"""Where the texts of a campaign come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import PROBLEM
from campaign_files import a_campaign_document
from equipoise_operator import sources
from equipoise_operator.stores.artefacts import ArtefactFolder

CONFIG_MAPS = {
    ("gelu", "problem.py"): PROBLEM,
    ("gelu", "library.py"): "library",
    ("gelu", "by_hand.py"): "by hand",
}


def resolved(folder: Path, source: object, *, of_problem: bool = False) -> tuple[str | None, str]:
    """The text of a source and what was found instead, with that source in a campaign."""
    campaign = a_campaign_document()
    comparison = campaign["spec"]["comparisons"][0]
    if of_problem:
        comparison["task"]["kernel"]["problem"] = source
    else:
        comparison["arms"][1]["kernel"]["source"] = source
    texts, faults = sources.resolve(
        campaign,
        document=0,
        config_maps=CONFIG_MAPS,
        read_artefact=ArtefactFolder(folder / "artefacts").get,
    )
    found = "; ".join(fault.found for fault in faults)
    return texts.get(("gelu", "" if of_problem else "by-hand")), found


def test_an_inline_source_is_its_own_text(tmp_path: Path) -> None:
    assert resolved(tmp_path, {"inline": "text"}) == ("text", "")


def test_a_config_map_key_is_looked_up_in_the_same_file(tmp_path: Path) -> None:
    reference = {"configMapKeyRef": {"name": "gelu", "key": "by_hand.py"}}
    assert resolved(tmp_path, reference) == ("by hand", "")


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_text("from a file")
    assert resolved(tmp_path, {"path": str(tmp_path / "candidate.py")}) == ("from a file", "")


def test_an_artefact_is_read_by_its_digest(tmp_path: Path) -> None:
    digest = ArtefactFolder(tmp_path / "artefacts").put(b"an artefact")
    assert resolved(tmp_path, {"artefact": digest}) == ("an artefact", "")


def test_an_artefact_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    text, found = resolved(tmp_path, {"artefact": "sha256:" + "0" * 64})
    assert text is None
    assert found.startswith("no artefact sha256:000")


def test_a_relative_path_is_a_fault_since_it_means_something_else_elsewhere(tmp_path: Path) -> None:
    assert resolved(tmp_path, {"path": "candidate.py"})[1] == "the relative path candidate.py"


def test_a_device_or_a_pipe_is_a_fault_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        assert "no regular file" in resolved(tmp_path, {"path": str(path)})[1]


def test_bytes_that_are_no_text_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\xff")
    assert "not UTF-8" in resolved(tmp_path, {"path": str(tmp_path / "binary")})[1]


def test_a_source_as_long_as_a_library_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("#" * (sources.MAX_CHARACTERS + 1))
    assert "more than 1000000 characters" in resolved(tmp_path, {"path": f"{tmp_path}/long.py"})[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def get_inputs(:", "no Python"),
        ("class Model: pass", "a problem file without get_inputs, get_init_inputs"),
        ("", "a problem file without Model, get_inputs, get_init_inputs"),
    ],
)
def test_a_problem_that_could_never_run_is_a_fault(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert expected in resolved(tmp_path, {"inline": text}, of_problem=True)[1]


def test_a_problem_may_import_or_assign_what_it_has_to_define(tmp_path: Path) -> None:
    text = "from x import Model\nget_inputs = get_init_inputs = lambda: []\n"
    assert resolved(tmp_path, {"inline": text}, of_problem=True) == (text, "")


def test_a_candidate_that_is_no_python_is_measured_and_not_refused_here(tmp_path: Path) -> None:
    assert resolved(tmp_path, {"inline": "def ("}) == ("def (", "")


@pytest.mark.parametrize("document", [None, [], {"spec": 3}, {"spec": {"comparisons": [None, {}]}}])
def test_a_document_that_is_no_campaign_has_no_sources(document: object) -> None:
    assert list(sources.named_sources(document)) == []
