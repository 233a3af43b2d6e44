"""R17: what outlives a run can slow the next arm or carry an answer to it."""

from __future__ import annotations

import pytest

from builders import a_record
from equipoise_protocol.block import BlockRecord, Leftover, RunRecord
from equipoise_protocol.validation import check
from validating import findings_on, kinds_on, with_runs


def leaving(record: BlockRecord, arm: str, **change: object) -> BlockRecord:
    def changed(run: RunRecord) -> RunRecord:
        clean = run.leftover or Leftover(processes=0, shared_memory=0, files=0, cleared=True)
        return run.model_copy(update={"leftover": clean.model_copy(update=change)})

    return with_runs(record, changed, arm=arm)


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("processes", "ProcessLeftBehind"),
        ("shared_memory", "SharedMemoryLeftBehind"),
        ("files", "FileLeftBehind"),
    ],
)
@pytest.mark.parametrize("arm", ["candidate", "library"])
def test_what_an_arm_leaves_behind_refuses_that_arm(arm: str, field: str, kind: str) -> None:
    found = findings_on(leaving(a_record(), arm, **{field: 1}))
    assert [(one.kind, one.severity.value, one.arm) for one in found] == [(kind, "Refusal", arm)]
    # It was cleared away before the next run, so the block stands as evidence.
    assert not check.is_void(found)


def test_an_arm_that_ended_its_own_helpers_is_taken() -> None:
    # The honest twin: whatever it started was gone with its last answer.
    assert findings_on(leaving(a_record(), "candidate", processes=0)) == ()


def test_what_could_not_be_cleared_voids_the_block() -> None:
    record = a_record()
    first = record.order[0]
    stuck = leaving(
        record.model_copy(
            update={"runs": record.runs[:1], "broken_off": "a process could not be ended"}
        ),
        first,
        processes=1,
        cleared=False,
    )
    assert kinds_on(stuck) == {
        ("ProcessLeftBehind", "Refusal", first),
        ("NotCleared", "Void", ""),
        ("BrokenOff", "Void", ""),
    }


def test_a_run_that_failed_is_looked_at_too() -> None:
    record = leaving(a_record(), "candidate", processes=2)
    assert "2 after run" in findings_on(record)[0].message
