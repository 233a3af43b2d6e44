"""`local` as the command line starts it: files in, a sealed record out, nothing left behind."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from block_builders import GELU, a_planned_block, an_arm, measured
from equipoise_protocol.block import BlockRecord, PlannedBlock, SealedRecord
from equipoise_protocol.canonical import authentic, canonical_bytes, digest_of_bytes
from equipoise_protocol.vocabulary import CacheState, Defect, IsaCap, KernelMode, RunStatus
from equipoise_runner import environment, procfs
from equipoise_runner.bench import census

ROOT = Path("/")


def a_block(**changes: object) -> PlannedBlock:
    return a_planned_block([an_arm("library"), an_arm("by_hand")], **changes)  # type: ignore[arg-type]


class Asked:
    """A block, its key and its output as files, and the process that measures it."""

    def __init__(self, folder: Path, block: PlannedBlock) -> None:
        self.block = block
        self.key = secrets.token_hex(32)
        self.planned, self.key_file = folder / "planned.json", folder / "key"
        self.output, self.temporary = folder / "record.json", folder / "temporary"
        self.planned.write_text(block.model_dump_json(by_alias=True))
        self.key_file.write_text(self.key)
        self.temporary.mkdir()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "equipoise_runner", "local"),
                *("--planned-block", str(self.planned)),
                *("--record-key-file", str(self.key_file)),
                *("--output", str(self.output)),
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(self.temporary)},
        )

    def record(self) -> BlockRecord:
        sealed = SealedRecord.model_validate_json(self.output.read_bytes())
        assert authentic(sealed.record, key=self.key, claimed=sealed.authentication)
        return sealed.record


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Fails if a process of a run, or a launcher, outlives a test."""
    yield
    deadline = time.monotonic() + 30
    while any(_ours()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(_ours())


def _ours() -> Iterator[str]:
    """Command lines of launchers whose parent has gone (a test's own children have theirs)."""
    for process in census.descendants(1):
        times = procfs.read_process(process, root=ROOT)
        words = procfs.text(Path(f"/proc/{process}/cmdline"))
        if times is not None and times.parent == 1 and "equipoise_runner\0bench" in words:
            yield words


def test_a_record_binds_to_its_block_and_appears_as_canonical_json(
    tmp_path: Path, nothing_left: None
) -> None:
    del nothing_left
    asked = Asked(tmp_path, a_block())
    process = asked.start()
    _, complaint = process.communicate()
    assert (process.returncode, complaint) == (0, "")
    record = asked.record()
    assert asked.output.read_bytes() == canonical_bytes(json.loads(asked.output.read_bytes()))
    assert record.identity == asked.block.identity
    assert record.seed_digest == digest_of_bytes(bytes.fromhex(asked.block.seed))
    assert [run.arm for run in record.runs] == list(record.order) == ["library", "by-hand"]
    assert record.broken_off == ""
    assert {path.name for path in tmp_path.iterdir()} == {
        *("planned.json", "key", "record.json", "temporary")
    }
    assert not list(asked.temporary.iterdir())


def test_the_record_shows_the_machine_the_walls_and_the_harness(tmp_path: Path) -> None:
    (record,) = measured([a_block()], tmp_path)
    (null,), (wall,), (reference,) = record.null_shapes, record.walls, record.references
    assert len(null.outside_nanoseconds) == sum(batch.length for batch in null.batches) == 12
    assert wall.mandatory_bytes == 2 * 64 * 256 * 4  # input and output, no parameters
    assert 0 < wall.copy_bytes_per_second <= wall.peak_bytes_per_second
    assert wall.no_op_nanoseconds < 1_000_000
    assert reference.response > 1
    assert record.provenance.machine.measuring_cpus == environment.choose_measuring_cpus(1)


def test_a_shape_that_the_problem_refuses_breaks_the_block_off(tmp_path: Path) -> None:
    problem = GELU.replace("torch.randn(*shape)", "torch.randn(*shape).view(64, 256)")
    (record,) = measured([a_block(problem=problem)], tmp_path)
    assert "get_inputs(33, 127) failed" in record.broken_off
    assert record.runs == ()


def test_what_is_not_a_planned_block_gives_no_record(tmp_path: Path) -> None:
    asked = Asked(tmp_path, a_block())
    asked.planned.write_text("{}")
    process = asked.start()
    _, complaint = process.communicate()
    assert process.returncode == 3
    assert "not a planned block" in complaint
    assert not asked.output.exists()


def test_more_threads_than_cpus_give_no_record(tmp_path: Path) -> None:
    asked = Asked(tmp_path, a_block(threads=1_024))
    process = asked.start()
    _, complaint = process.communicate()
    assert process.returncode == 3
    assert "1024 threads need as many CPUs" in complaint


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_everything(
    tmp_path: Path, number: signal.Signals, nothing_left: None
) -> None:
    del nothing_left
    asked = Asked(tmp_path, a_planned_block([an_arm("hangs"), an_arm("library")], seconds=600))
    process = asked.start()
    _until_an_arm_hangs(process.pid)
    process.send_signal(number)
    process.communicate()
    expected = -number if number is signal.SIGKILL else 128 + number
    assert process.returncode == expected
    assert not asked.output.exists()
    deadline = time.monotonic() + 30  # after SIGKILL the launcher clears up by itself
    while list(asked.temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(asked.temporary.iterdir())


def _until_an_arm_hangs(process: int) -> None:
    """Wait until some descendant has been burning CPU for a while as an arm's leaf."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        leaves = [
            times
            for child in census.descendants(process)
            if not census.descendants(child)
            and (times := procfs.read_process(child, root=ROOT)) is not None
            and (words := procfs.text(Path(f"/proc/{child}/oom_score_adj"))) == "1000"
            and words
        ]
        if any(times.own_nanoseconds > 1_000_000_000 for times in leaves):
            return
        time.sleep(0.05)
    raise AssertionError("no arm hung within two minutes")


def test_blocks_of_one_environment_share_a_template_and_others_do_not(tmp_path: Path) -> None:
    blocks = [
        a_block(),
        a_block(isa=IsaCap.AVX2),
        a_block(isa=IsaCap.AVX2, drill=Defect.CPU_NEIGHBOUR),
    ]
    if environment.usable_isa() is IsaCap.NATIVE:
        pytest.skip("this CPU has no AVX2")
    native, capped, drilled = measured(blocks, tmp_path)
    capabilities = [
        {run.effective.isa for run in record.runs if run.effective}
        for record in (native, capped, drilled)
    ]
    assert capabilities[1:] == [{"AVX2"}, {"AVX2"}]
    effective = capped.runs[0].effective
    assert effective is not None
    assert effective.libraries["onednn"] == "Intel AVX2"
    if environment.usable_isa() is IsaCap.AVX512:
        assert capabilities[0] == {"AVX512"}
    assert drilled.drill is Defect.CPU_NEIGHBOUR


def test_a_neighbour_on_purpose_shows_in_the_contention(tmp_path: Path) -> None:
    block = a_block(drill=Defect.CPU_NEIGHBOUR, shapes=((256, 1024),), values=200)
    (record,) = measured([block], tmp_path)
    taken = [run.contention for run in record.runs if run.contention]
    foreign = sum(one.foreign_nanoseconds for one in taken)
    # The neighbour burns whatever it gets of the one CPU, a half where shares are fair.
    assert foreign > 0.2 * sum(one.wall_nanoseconds for one in taken)


def test_a_cold_call_is_slower_than_a_warm_one(tmp_path: Path) -> None:
    relu = GELU.replace('gelu(x, approximate="tanh")', "relu(x)")
    warm, cold = measured(
        [a_block(problem=relu, cache=state, shapes=((512, 1024),)) for state in CacheState],
        tmp_path,
    )
    slower = [_least(other) / _least(one) for one, other in zip(warm.runs, cold.runs, strict=True)]
    # Two MiB in and two out come from memory instead of the cache.
    assert slower[0] > 1.2
    assert cold.walls[0].copy_bytes_per_second < warm.walls[0].copy_bytes_per_second


def _least(run: object) -> int:
    least: int = min(run.shapes[0].inside_nanoseconds)  # type: ignore[attr-defined]
    return least


def test_two_threads_are_used_and_read_back(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    (record,) = measured([a_block(threads=2)], tmp_path)
    assert record.broken_off == ""
    for run in record.runs:
        assert run.status is RunStatus.COMPLETED, run.message
        assert run.effective is not None
        assert run.effective.threads == 2


@pytest.mark.measured
def test_a_compiled_arm_is_prepared_once_and_capped_like_the_rest(tmp_path: Path) -> None:
    isa = environment.usable_isa()
    compiled = an_arm("by_hand", mode=KernelMode.COMPILE)
    block = a_planned_block([an_arm("library"), compiled], isa=isa)
    first, second = measured([block, block], tmp_path, cache=tmp_path / "cache")
    for record in (first, second):
        run = record.runs[1]
        assert run.status is RunStatus.COMPLETED, run.message
        assert run.effective is not None
        assert run.effective.module == "compiled ModelNew"
        assert isa.value.lower() in run.effective.libraries["inductor"]
        assert all(
            checked.scaled_error is not None and checked.scaled_error < 0.1
            for checked in (*run.shapes[0].checked, *run.held_out[0].checked)
        )
    assert second.runs[1].start_nanoseconds < first.whole_nanoseconds / 2
    assert second.whole_nanoseconds < first.whole_nanoseconds / 2


def test_collector_and_bench_of_a_pod_find_each_other(tmp_path: Path) -> None:
    asked = Asked(tmp_path, a_block())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        common = [sys.executable, "-m", "equipoise_runner"]
        bench = subprocess.Popen([*common, "bench", "--socket", str(path)])
        collector = subprocess.run(
            [
                *(*common, "collect", "--socket", str(path)),
                *("--planned-block", str(asked.planned)),
                *("--record-key-file", str(asked.key_file)),
                *("--output", str(asked.output)),
            ],
            check=False,
        )
        assert (collector.returncode, bench.wait(30)) == (0, 0)
        assert not path.exists()
    assert asked.record().broken_off == ""
