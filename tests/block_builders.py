"""Smallest valid planned blocks for the runner's tests, and how to have them measured.

Read by the tests of `tests/runner_image`. What a builder gives is small enough to be measured in a
second a run; nothing here judges what comes back.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from equipoise_protocol.block import (
    BlockIdentity,
    BlockRecord,
    Effort,
    KernelWork,
    PlannedArm,
    PlannedBlock,
    SealedRecord,
)
from equipoise_protocol.canonical import authentic
from equipoise_protocol.provenance import Environment
from equipoise_protocol.vocabulary import CacheState, Defect, IsaCap, KernelMode, Phase

CANDIDATES = Path(__file__).parent / "runner_image" / "candidates"

GELU = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


def get_inputs(*shape):
    return [torch.randn(*shape)]


def get_init_inputs():
    return []
"""

SHAPE = (64, 256)
HELD_OUT = (33, 127)


def the_candidate(name: str) -> str:
    """The text of a candidate file of these tests."""
    return (CANDIDATES / f"{name}.py").read_text()


def an_arm(
    name: str, *, source: str | None = None, mode: KernelMode = KernelMode.EAGER
) -> PlannedArm:
    """An arm called like its candidate file; `library` is the problem's own Model."""
    if source is None:
        source = "" if name == "library" else the_candidate(name)
    return PlannedArm(name=name.replace("_", "-"), mode=mode, source=source)


def a_planned_block(  # noqa: PLR0913 - all that a block may be, each with a default
    arms: Sequence[PlannedArm],
    *,
    order: Sequence[str] | None = None,
    problem: str = GELU,
    shapes: tuple[tuple[int, ...], ...] = (SHAPE,),
    held_out: tuple[tuple[int, ...], ...] = (HELD_OUT,),
    cache: CacheState = CacheState.WARM,
    warm_ups: int = 3,
    values: int = 12,
    seconds: int = 60,
    threads: int = 1,
    isa: IsaCap = IsaCap.NATIVE,
    drill: Defect | None = None,
) -> PlannedBlock:
    """A block that measures each arm once, in the order given."""
    return PlannedBlock(
        identity=BlockIdentity(
            protocol_digest="sha256:" + "a" * 64,
            registration_digest="sha256:" + "b" * 64,
            campaign="tests",
            comparison="gelu",
            node_class="here",
            block=1,
            attempt=1,
            phase=Phase.ESTIMATION,
            nonce=secrets.token_hex(32),
        ),
        seed=secrets.token_hex(32),
        order=tuple(order or (arm.name for arm in arms)),
        arms=tuple(arms),
        work=KernelWork(
            problem=problem,
            shapes=shapes,
            held_out_shapes=held_out,
            cache=cache,
            tolerance_basis_points=100,
        ),
        effort=Effort(warm_ups=warm_ups, values=values, run_timeout_seconds=seconds),
        environment=Environment(threads=threads, isa_cap=isa),
        drill=drill,
    )


def measured(
    blocks: Sequence[PlannedBlock],
    folder: Path,
    *,
    prefix: Sequence[str] = (),
    cache: Path | None = None,
) -> list[BlockRecord]:
    """The records of these blocks, measured by `local --serve` in a process of its own.

    `prefix`: a command that starts its arguments, such as one that becomes another user first.
    """
    key = secrets.token_hex(32)
    lines = [
        json.dumps(
            {
                "plannedBlock": json.loads(block.model_dump_json(by_alias=True)),
                "recordKey": key,
                "output": str(folder / f"record-{number}.json"),
            }
        )
        for number, block in enumerate(blocks)
    ]
    command = [*prefix, sys.executable, "-m", "equipoise_runner", "local", "--serve"]
    if cache is not None:
        command += ["--cache", str(cache)]
    ended = subprocess.run(
        command,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, ended.stderr
    assert all("output" in answer for answer in answers), (answers, ended.stderr)
    sealed = [
        SealedRecord.model_validate_json(Path(answer["output"]).read_bytes()) for answer in answers
    ]
    assert all(authentic(one.record, key=key, claimed=one.authentication) for one in sealed)
    return [one.record for one in sealed]
