"""Collector and bench as two containers of a restricted pod: what of each other they can see.

Both are started from root by `in_a_container.py`: other users, PID namespaces and file systems of
their own, no capability, the calls refused that a container runtime refuses. The block holds
candidates that leave things behind, look for secrets and try to connect.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import builders
from block_builders import SHAPE, a_planned_block, an_arm, the_candidate
from equipoise_protocol.block import BlockRecord, PlannedArm, PlannedBlock, RunRecord, SealedRecord
from equipoise_protocol.canonical import authentic
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.spec import NodeClassSpec
from equipoise_protocol.validation import check
from equipoise_protocol.vocabulary import Defect, RunStatus, Separation, Severity
from pods import Attempt, Store, serving

BENCH, COLLECTOR, GROUP = 65_531, 65_532, 65_530
POD, NODE = "0f5e3c1e-0000-4000-8000-000000000001", "node-1"
STARTER = Path(__file__).parent / "in_a_container.py"
ATTEMPT, SOCKET = "/var/run/equipoise/attempt", "/var/run/equipoise/socket"
NAMES = (
    *("library", "by_hand", "leaves_daemon", "finds_marks", "leaves_files", "leaves_marks"),
    *("opens_socket", "searches_container", "kept_on_disk", "kept_on_disk_again", "calls_home"),
    *("closes_folders", "finds_leftovers"),
)
"""Each once; and again, after each that leaves something, one that looks for it."""
ORDER = (*NAMES, "finds_marks")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can make the containers' users and namespaces"
)


def the_arm(name: str, looked_for: Sequence[str]) -> PlannedArm:
    text = the_candidate(name.removesuffix("_again")) if name != "library" else ""
    if name == "searches_container":
        text = text.replace("= ()", f"= {tuple(looked_for)!r}", 1)
    return an_arm(name, source=text)


@dataclass(frozen=True, slots=True)
class Pod:
    """A folder that stands for a pod's volumes, and the groups of its containers."""

    folder: Path
    groups: dict[str, tuple[tuple[str, str], ...]]

    def container(
        self,
        name: str,
        user: int,
        command: Sequence[str],
        shown: Sequence[tuple[Path, str]],
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        asked = {
            "user": user,
            "group": GROUP,
            "shown": [(str(here), there) for here, there in shown],
            "cgroups": self.groups.get(name, ()),
            "environment": {
                "PATH": os.environ["PATH"],
                "TMPDIR": "/scratch",
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                "PYTHONDONTWRITEBYTECODE": "1",
                **(environment or {}),
            },
            "command": [sys.executable, "-m", "equipoise_runner", *command],
        }
        return subprocess.Popen(
            [sys.executable, str(STARTER), json.dumps(asked)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def measured(
        self, block: PlannedBlock, store: Store, *, key: str = ""
    ) -> tuple[SealedRecord, Attempt, str]:
        """The record in the store, the attempt, and what both containers said."""
        attempt = Attempt(self.folder, block, url=store.url, key=key)
        for path in attempt.folder.iterdir():
            os.chown(path, 0, GROUP)
        socket = self.folder / "socket"
        socket.mkdir()
        os.chown(socket, 0, GROUP)
        socket.chmod(0o2777)  # as kubelet makes an emptyDir
        at = f"{SOCKET}/bench.sock"
        bench = self.container(
            "bench",
            BENCH,
            ["bench", "--socket", at, "--cache", "/scratch/cache"],
            [(socket, SOCKET)],
        )
        collector = self.container(
            "collector",
            COLLECTOR,
            ["pod-collect", "--attempt", ATTEMPT, "--socket", at],
            [(socket, SOCKET), (attempt.folder, ATTEMPT)],
            {"EQUIPOISE_POD_UID": POD, "EQUIPOISE_NODE_NAME": NODE},
        )
        said = [*collector.communicate(timeout=500), *bench.communicate(timeout=60)]
        assert (collector.returncode, bench.returncode) == (0, 0), said
        assert not list(socket.iterdir())
        (content,) = store.objects.values()
        sealed = SealedRecord.model_validate_json(content)
        assert authentic(sealed.record, key=attempt.key, claimed=sealed.authentication)
        return sealed, attempt, "".join(said)


@pytest.fixture(scope="module")
def groups() -> Iterator[dict[str, tuple[tuple[str, str], ...]]]:
    """A control group for each container, as far as this machine has version 1 or 2 of them."""
    name = f"equipoise-tests-{os.getpid()}"
    roots = [Path("/sys/fs/cgroup", controller) for controller in ("cpuacct", "cpu", "memory")]
    roots = [root for root in roots if (root / "cgroup.procs").exists()]
    made: dict[str, tuple[tuple[str, str], ...]] = {}
    folders = []
    for container in ("bench", "collector"):
        pairs = []
        for root in roots:
            folder = root / f"{name}-{container}"
            folder.mkdir()
            folders.append(folder)
            pairs.append((str(folder), root.name))
        made[container] = tuple(pairs)
    yield made
    for folder in folders:
        folder.rmdir()


@dataclass(frozen=True, slots=True)
class Result:
    record: BlockRecord
    attempt: Attempt
    said: str

    def run(self, name: str) -> RunRecord:
        wanted = name.replace("_", "-")
        return next(run for run in self.record.runs if run.arm == wanted)


@pytest.fixture(scope="module")
def result(
    tmp_path_factory: pytest.TempPathFactory, groups: dict[str, tuple[tuple[str, str], ...]]
) -> Result:
    folder = tmp_path_factory.mktemp("pod")
    for place in (folder, *folder.parents[:2]):
        place.chmod(0o755)
    with serving() as store:
        planned = a_planned_block([an_arm("library"), an_arm("by_hand")])
        looked_for = (planned.seed, planned.identity.nonce, secrets.token_hex(8))
        arms = {name: the_arm(name, looked_for) for name in NAMES}
        block = planned.model_copy(
            update={
                "arms": tuple(arms.values()),
                "order": tuple(arms[name].name for name in ORDER),
            }
        )
        sealed, attempt, said = Pod(folder, groups).measured(block, store)
    return Result(sealed.record, attempt, said)


def test_every_run_ended_as_it_should_and_was_cleared_away(result: Result) -> None:
    assert result.record.broken_off == ""
    assert len(result.record.runs) == len(ORDER)
    assert all(run.leftover and run.leftover.cleared for run in result.record.runs)
    assert {run.arm: (run.status, run.message) for run in result.record.runs} == {
        name.replace("_", "-"): (RunStatus.COMPLETED, "") for name in NAMES
    }
    assert all(
        checked.scaled_error is not None and checked.scaled_error < 0.01
        for run in result.record.runs
        for shape in run.shapes
        for checked in shape.checked
    )


def test_the_record_says_that_they_were_separate_containers(result: Result) -> None:
    provenance = result.record.provenance
    assert provenance.separation is Separation.SEPARATE_CONTAINERS
    assert (provenance.pod, provenance.node) == (POD, NODE)


def test_no_container_says_a_secret(result: Result) -> None:
    assert not [secret for secret in result.attempt.secrets() if secret in result.said]


@pytest.mark.parametrize(
    "name", ["library", "by_hand", "finds_marks", "finds_leftovers", "closes_folders"]
)
def test_a_run_that_leaves_nothing_is_seen_to_leave_nothing(result: Result, name: str) -> None:
    leftover = result.run(name).leftover
    assert leftover is not None
    assert (leftover.processes, leftover.shared_memory, leftover.files) == (0, 0, 0)


def test_a_daemon_that_left_its_family_is_counted_and_killed(result: Result) -> None:
    leftover = result.run("leaves_daemon").leftover
    assert leftover is not None
    assert leftover.processes == 1


def test_files_are_counted_or_were_refused(result: Result) -> None:
    leftover = result.run("leaves_files").leftover
    assert leftover is not None
    assert leftover.shared_memory == 1  # the one place beside scratch that Landlock leaves open


def test_marks_on_what_is_there_are_counted(result: Result) -> None:
    # Landlock refuses neither attributes nor modes, so the inventory has to see them.
    leftover = result.run("leaves_marks").leftover
    assert leftover is not None
    assert leftover.files + leftover.shared_memory > 0


def test_contention_is_seen_from_outside(result: Result) -> None:
    tick = 10_000_000
    for run in result.record.runs:
        seen = run.contention
        assert seen is not None
        assert seen.cpu_nanoseconds > 0
        # The measuring CPU was the arm's, others' or nobody's; in a call, the arm ran or waited.
        busy = seen.cpu_nanoseconds + seen.foreign_nanoseconds + seen.steal_nanoseconds
        assert busy < seen.wall_nanoseconds + 3 * tick
        called = sum(sum(shape.inside_nanoseconds) for shape in run.shapes)
        assert called < 1.1 * (seen.cpu_nanoseconds + seen.wait_nanoseconds) + 3 * tick


def test_a_neighbour_on_purpose_shows_as_foreign_time(
    tmp_path: Path, groups: dict[str, tuple[tuple[str, str], ...]]
) -> None:
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o755)
    block = a_planned_block(
        [an_arm("library"), an_arm("by_hand")],
        drill=Defect.CPU_NEIGHBOUR,
        shapes=((256, 1024),),
        values=200,
    )
    with serving() as store:
        sealed, *_ = Pod(tmp_path, groups).measured(block, store)
    taken = [run.contention for run in sealed.record.runs if run.contention]
    assert sum(one.foreign_nanoseconds for one in taken) > 0.2 * sum(
        one.wall_nanoseconds for one in taken
    )
    assert all(one.wait_nanoseconds > 0.1 * one.wall_nanoseconds for one in taken)


@pytest.mark.measured
def test_a_registered_block_is_taken_and_nothing_is_found_but_a_busy_machine(
    tmp_path: Path, groups: dict[str, tuple[tuple[str, str], ...]]
) -> None:
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o755)
    here = builders.a_registered_class(spec=NodeClassSpec(node_selector={}))
    registration = builders.a_registration(classes=(here,))
    planned = builders.a_planned_block(registration)
    key = builders.a_record_key(planned, registration)
    with serving() as store:
        sealed, *_ = Pod(tmp_path, groups).measured(planned, store, key=key)
    made_in = sealed.record.provenance
    found = check.findings_of(
        planned,
        sealed,
        record_key=key,
        registration=registration,
        observed=PodObservation(pod=made_in.pod, node=made_in.node, images={}),
    )
    assert {run.status for run in sealed.record.runs} == {RunStatus.COMPLETED}
    assert not check.rejects(found)
    # What others on the machine can bring about, and no more; without a void block, nothing at all.
    assert {one.rule for one in found} <= {"R13", "R14", "R17"}, found
    assert {one.severity for one in found} <= {Severity.NOTE, Severity.VOID}, found
    assert all(one.kind != "NotSeen" for one in found)


def test_without_control_groups_the_processes_themselves_are_read(tmp_path: Path) -> None:
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o755)
    block = a_planned_block([an_arm("library"), an_arm("by_hand")], values=60)
    with serving() as store:
        sealed, *_ = Pod(tmp_path, {}).measured(block, store)
    for run in sealed.record.runs:
        assert run.contention is not None
        assert run.shapes[0].shape == SHAPE
        assert run.contention.cpu_nanoseconds > 0
