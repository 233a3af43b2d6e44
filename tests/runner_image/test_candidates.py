"""Candidates that cheat, fail or misbehave, each run for real: what of it stands in the record.

As root every run has its own user and namespaces; the same candidates run as an ordinary user, too.
The judgement is validation's; here it is the raw fact that gives a candidate away, and that nothing
which a candidate does spoils the record or the runs after it.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from block_builders import SHAPE, a_planned_block, an_arm, measured, the_candidate
from equipoise_protocol.block import BlockRecord, PlannedArm, RunRecord
from equipoise_protocol.vocabulary import RunStatus, Separation

ORDINARY_USER = 54_321
AS_USER = Path(__file__).parent / "as_ordinary_user.py"

NAMES = (
    *("library", "by_hand", "cached_by_pointer", "cached_by_content", "patched_clock"),
    *("deferred_to_thread", "written_late", "input_mutated", "constant", "zeros", "identity"),
    *("nan", "nothing", "searches_memory", "unlike_the_shape"),
    *("library", "searches_machine", "leaves_process", "leaves_memory", "finds_leftovers"),
    *("kept_on_disk", "kept_on_disk_again", "opens_socket", "calls_home", "takes_threads"),
    *("prints_results", "burns_early_calls", "computes_in_pauses"),
    *(
        "library",
        "forges_answers",
        "talks_nonsense",
        "exits",
        "exits_on_import",
        "crashes",
        "raises",
    ),
    *("wants_memory", "wrong_subclass", "wrong_shape", "wrong_dtype"),
)
"""Three blocks, each beginning with the library arm."""


def the_arm(name: str, secrets: Sequence[str]) -> PlannedArm:
    if name == "searches_machine":
        text = the_candidate(name).replace("= ()", f"= {tuple(secrets)!r}", 1)
        return an_arm(name, source=text)
    if name.endswith("_again"):
        return an_arm(name, source=the_candidate(name.removesuffix("_again")))
    return an_arm(name)


def all_measured(folder: Path, *, prefix: Sequence[str]) -> list[BlockRecord]:
    """Three blocks with every candidate; files of the user's stand where a candidate may look."""
    (folder / "ledger").write_text("secret of a campaign")
    secrets = [str(folder / "ledger"), str(Path.home() / ".bashrc"), __file__]
    begins = [index for index, name in enumerate(NAMES) if name == "library"]
    blocks = [
        a_planned_block([the_arm(name, secrets) for name in NAMES[begin:end]])
        for begin, end in zip(begins, [*begins[1:], len(NAMES)], strict=True)
    ]
    return measured(blocks, folder, prefix=prefix)


@pytest.fixture(scope="module")
def as_root(tmp_path_factory: pytest.TempPathFactory) -> list[BlockRecord]:
    if os.geteuid() != 0:
        pytest.skip("only root can give each run a user of its own")
    return all_measured(tmp_path_factory.mktemp("root"), prefix=())


@pytest.fixture(scope="module")
def as_user(tmp_path_factory: pytest.TempPathFactory) -> list[BlockRecord]:
    folder = tmp_path_factory.mktemp("user")
    if os.geteuid() != 0:
        return all_measured(folder, prefix=())
    os.chown(folder, ORDINARY_USER, ORDINARY_USER)
    prefix = [sys.executable, str(AS_USER), str(ORDINARY_USER), str(folder)]
    return all_measured(folder, prefix=prefix)


@pytest.fixture(scope="module", params=["as_root", "as_user"])
def records(request: pytest.FixtureRequest) -> list[BlockRecord]:
    found: list[BlockRecord] = request.getfixturevalue(request.param)
    return found


def run_of(records: Sequence[BlockRecord], name: str) -> RunRecord:
    wanted = name.replace("_", "-")
    return next(run for record in records for run in record.runs if run.arm == wanted)


def errors(run: RunRecord) -> list[float | None]:
    return [checked.scaled_error for shape in run.shapes for checked in shape.checked]


def all_wrong(run: RunRecord) -> bool:
    found = errors(run)
    return len(found) == 5 and all(error is None or error > 1 for error in found)


def all_right(run: RunRecord) -> bool:
    return len(errors(run)) == 5 and all(
        error is not None and error < 0.01 for error in errors(run)
    )


def medians(run: RunRecord) -> tuple[float, float]:
    """Outside and inside."""
    (shape,) = run.shapes
    return statistics.median(shape.outside_nanoseconds), statistics.median(shape.inside_nanoseconds)


def test_every_block_was_finished_and_every_run_cleared_away(records: list[BlockRecord]) -> None:
    assert [record.broken_off for record in records] == ["", "", ""]
    assert sum(len(record.runs) for record in records) == len(NAMES)
    assert all(run.leftover and run.leftover.cleared for record in records for run in record.runs)


def test_the_record_says_how_far_the_runs_were_kept_apart(request: pytest.FixtureRequest) -> None:
    for fixture, grade in (
        ("as_root", Separation.SEPARATE_USERS),
        ("as_user", Separation.SAME_USER),
    ):
        if fixture == "as_root" and os.geteuid() != 0:
            continue
        for record in request.getfixturevalue(fixture):
            assert record.provenance.separation is grade


@pytest.mark.parametrize("name", ["library", "by_hand"])
def test_an_honest_arm_completes_and_is_right(records: list[BlockRecord], name: str) -> None:
    run = run_of(records, name)
    assert run.status is RunStatus.COMPLETED
    assert all_right(run)
    assert all(checked.inputs_unchanged for checked in run.shapes[0].checked)
    assert all(
        checked.scaled_error is not None and checked.scaled_error < 0.01
        for held_out in run.held_out
        for checked in held_out.checked
    )


@pytest.mark.parametrize(
    "name",
    [
        *("cached_by_pointer", "deferred_to_thread", "input_mutated", "constant", "zeros"),
        *("identity", "nan", "nothing"),
    ],
)
def test_outputs_that_were_not_computed_are_wrong(records: list[BlockRecord], name: str) -> None:
    run = run_of(records, name)
    assert run.status is RunStatus.COMPLETED
    assert all_wrong(run)


@pytest.mark.parametrize("name", ["cached_by_content", "kept_on_disk", "kept_on_disk_again"])
def test_no_content_comes_back_in_a_run_or_in_a_later_one(
    records: list[BlockRecord], name: str
) -> None:
    # These candidates raise an error when they meet a content again. All arms of a block do get the
    # same inputs, so a file that survived a run would betray it to the second of them.
    run = run_of(records, name)
    assert (run.status, run.message) == (RunStatus.COMPLETED, "")


def test_a_patched_clock_disagrees_with_the_one_outside(records: list[BlockRecord]) -> None:
    # It shows a tenth of its time. What else runs on the machine can only lengthen the outside, so
    # the quickest call of each run is compared.
    patched, honest = (
        max(
            here / there
            for here, there in zip(shape.inside_nanoseconds, shape.outside_nanoseconds, strict=True)
        )
        for name in ("patched_clock", "by_hand")
        for shape in run_of(records, name).shapes
    )
    assert patched < 0.3
    assert honest > 0.3


def test_an_output_written_after_the_answer_costs_its_time_outside(
    records: list[BlockRecord],
) -> None:
    run = run_of(records, "written_late")
    outside, inside = medians(run)
    unchanged = all(checked.inputs_unchanged for checked in run.shapes[0].checked)
    assert all_wrong(run) or not unchanged or outside > 3 * inside


def test_a_changed_input_is_noticed(records: list[BlockRecord]) -> None:
    run = run_of(records, "input_mutated")
    assert not any(checked.inputs_unchanged for checked in run.shapes[0].checked)


def test_a_shape_that_the_candidate_does_not_know_tells(records: list[BlockRecord]) -> None:
    run = run_of(records, "unlike_the_shape")
    assert all_right(run)
    assert all(
        checked.scaled_error is None or checked.scaled_error > 1
        for held_out in run.held_out
        for checked in held_out.checked
    )


@pytest.mark.parametrize(
    "name",
    [
        "searches_memory",  # no answer in the process
        "searches_machine",  # no seed, key, ledger or process within reach
        "opens_socket",  # no network
        "calls_home",  # no signal reaches anything else
        "finds_leftovers",  # nothing of the run before, which left a lot
        "prints_results",  # nobody reads what it prints
    ],
)
def test_what_a_candidate_looks_for_is_not_there(records: list[BlockRecord], name: str) -> None:
    run = run_of(records, name)
    assert (run.status, run.message) == (RunStatus.COMPLETED, "")
    assert all_right(run)


def test_a_process_left_behind_is_counted_and_killed(records: list[BlockRecord]) -> None:
    leftover = run_of(records, "leaves_process").leftover
    assert leftover is not None
    assert leftover.processes == 1
    assert leftover.cleared


def test_shared_memory_left_behind_is_counted_or_was_refused(records: list[BlockRecord]) -> None:
    run = run_of(records, "leaves_memory")
    assert run.leftover is not None
    if records[0].provenance.separation is Separation.SEPARATE_USERS:
        assert (run.leftover.shared_memory, run.leftover.files) == (1, 1)
    else:
        assert run.status is RunStatus.LOAD_ERROR or run.leftover.shared_memory == 1


def test_threads_and_precision_that_were_taken_are_read_back(records: list[BlockRecord]) -> None:
    run = run_of(records, "takes_threads")
    assert run.status is RunStatus.COMPLETED, run.message  # so its CPUs stayed what they were
    assert run.effective is not None
    assert run.effective.threads == 2
    assert run.effective.allow_tf32


def test_time_burnt_in_early_calls_stands_in_the_values(records: list[BlockRecord]) -> None:
    # Priming, three warm-ups and six timed calls take 3 ms more than the rest. The candidate can't
    # tell batches apart, so they stand where they stand.
    values = run_of(records, "burns_early_calls").shapes[0].outside_nanoseconds
    assert statistics.median(values[:6]) > 2_000_000 + statistics.median(values[6:])


def test_work_in_the_pauses_shows_as_cpu_time(records: list[BlockRecord]) -> None:
    run = run_of(records, "computes_in_pauses")
    assert run.contention is not None
    (shape,) = run.shapes
    honest = run_of(records, "by_hand")
    assert honest.contention is not None
    used = run.contention.cpu_nanoseconds / sum(shape.inside_nanoseconds)
    honestly = honest.contention.cpu_nanoseconds / sum(honest.shapes[0].inside_nanoseconds)
    assert used > honestly


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("forges_answers", RunStatus.DIED, "spoke out of turn"),
        ("talks_nonsense", RunStatus.DIED, "spoke out of turn"),
        ("exits", RunStatus.DIED, "exit code 0"),
        ("exits_on_import", RunStatus.LOAD_ERROR, "SystemExit"),
        ("crashes", RunStatus.DIED, "signal 11"),
        ("raises", RunStatus.CALL_ERROR, "ValueError: first line"),
        ("wants_memory", RunStatus.OUT_OF_MEMORY, "allocate"),
        ("wrong_subclass", RunStatus.WRONG_OUTPUT_FORM, "Lazy"),
        ("wrong_shape", RunStatus.WRONG_OUTPUT_FORM, "(32, 256)"),
        ("wrong_dtype", RunStatus.WRONG_OUTPUT_FORM, "torch.float64"),
    ],
)
def test_a_candidate_that_fails_is_data(
    records: list[BlockRecord], name: str, status: RunStatus, words: str
) -> None:
    run = run_of(records, name)
    assert run.status is status
    assert words in run.message
    assert run.message.isprintable()
    assert run.shapes == ()
    assert run.contention is None


def test_a_run_that_completed_has_every_value(records: list[BlockRecord]) -> None:
    for record in records:
        for run in record.runs:
            if run.status is not RunStatus.COMPLETED:
                continue
            (shape,) = run.shapes
            assert shape.shape == SHAPE
            assert len(shape.outside_nanoseconds) == len(shape.inside_nanoseconds) == 12
            assert len(shape.warm_up_nanoseconds) == 3
            assert sum(batch.length for batch in shape.batches) == 12
            assert len({batch.length for batch in shape.batches}) == len(shape.batches) >= 4
            assert run.contention is not None
            assert sum(shape.outside_nanoseconds) <= run.contention.wall_nanoseconds
            assert run.start_nanoseconds < run.whole_nanoseconds


def test_batches_hold_their_calls(records: list[BlockRecord]) -> None:
    for record in records:
        for run in record.runs:
            for shape in run.shapes:
                ends = 0
                for batch in shape.batches:
                    calls = shape.outside_nanoseconds[ends : ends + batch.length]
                    ends += batch.length
                    assert batch.outside_nanoseconds >= sum(calls)


def test_all_arms_of_a_block_are_checked_at_calls_of_their_own(records: list[BlockRecord]) -> None:
    for record in records[:2]:
        chosen = [
            tuple(checked.call for checked in shape.checked)
            for run in record.runs
            for shape in run.shapes
        ]
        assert len(set(chosen)) > 1


def test_a_candidate_that_never_returns_is_timed_out_and_the_others_are_measured(
    tmp_path: Path,
) -> None:
    block = a_planned_block([an_arm("hangs"), an_arm("library")], seconds=6)
    (record,) = measured([block], tmp_path)
    assert [run.status for run in record.runs] == [RunStatus.TIMED_OUT, RunStatus.COMPLETED]
    assert "6 s" in record.runs[0].message


def test_a_candidate_that_fills_the_memory_hits_its_own_limit(tmp_path: Path) -> None:
    block = a_planned_block([an_arm("fills_memory"), an_arm("library")], seconds=120)
    (record,) = measured([block], tmp_path)
    assert [run.status for run in record.runs] == [RunStatus.OUT_OF_MEMORY, RunStatus.COMPLETED]
