"""`python -m equipoise_runner`: planned block in, block record out.

bench        the side of the candidate: template, sandboxes, arms (`bench.launcher`)
collect      the trusted side: inputs, reference, outside clock, record (`collector.session`)
pod-collect  the same in a pod: the block from a mounted Secret, the record by an upload (`pod`)
local        both on this machine (`local`)

Exit codes: 0 a record was written or stored, whatever it says; 1 a fault of the program itself; 2
wrong arguments; 3 no record, for a reason that stands on standard error; 128 + n ended by signal n.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

from equipoise_runner.environment import EnvironmentFault
from equipoise_runner.errors import RunnerFault

NO_RECORD = 3


def main(arguments: list[str] | None = None) -> int:
    """Run one of the roles."""
    chosen = _parser().parse_args(arguments)
    try:
        match chosen.role:
            case "bench":
                _bench(chosen)
            case "collect":
                _collect(chosen)
            case "pod-collect":
                _pod_collect(chosen)
            case _:
                _local(chosen)
    except (RunnerFault, EnvironmentFault) as fault:
        sys.stderr.write(f"equipoise_runner: {fault}\n")
        return NO_RECORD
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m equipoise_runner", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)

    bench = roles.add_parser("bench", help="run arms for a collector")
    where = bench.add_mutually_exclusive_group(required=True)
    where.add_argument("--socket", type=Path, help="path at which the collector listens")
    where.add_argument("--socket-fd", type=int, help="a connected descriptor, inherited")
    bench.add_argument("--cache", type=Path, help="folder of prepared compile caches")

    collect = roles.add_parser("collect", help="measure one block over a socket")
    collect.add_argument("--socket", type=Path, required=True, help="path to listen at")
    _add_assignment(collect, required=True)

    pod = roles.add_parser("pod-collect", help="measure a pod's block and upload its record")
    pod.add_argument("--attempt", type=Path, required=True, help="folder of the attempt's Secret")
    pod.add_argument("--socket", type=Path, required=True, help="path to listen at")

    local = roles.add_parser("local", help="measure blocks on this machine")
    _add_assignment(local, required=False)
    local.add_argument("--cache", type=Path, help="folder of prepared compile caches")
    local.add_argument(
        "--serve",
        action="store_true",
        help="read assignments from standard input, a line of JSON each; answer each with a line",
    )
    return parser


def _add_assignment(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--planned-block", type=Path, required=required, help="PlannedBlock as JSON"
    )
    parser.add_argument(
        "--record-key-file", type=Path, required=required, help="64 hexadecimal digits"
    )
    parser.add_argument(
        "--output", type=Path, required=required, help="where the sealed record goes"
    )


def _bench(chosen: argparse.Namespace) -> None:
    # Nothing here may import torch: the caps of instruction sets must stand first.
    from equipoise_runner import signals  # noqa: PLC0415
    from equipoise_runner.bench import rendezvous  # noqa: PLC0415
    from equipoise_runner.bench.channel import Channel  # noqa: PLC0415
    from equipoise_runner.bench.launcher import launch  # noqa: PLC0415

    signals.end_on_signals()
    collector = (
        Channel(socket.socket(fileno=chosen.socket_fd))
        if chosen.socket is None
        else rendezvous.connect(chosen.socket)
    )
    code: int | str | None = 0
    try:
        launch(collector, cache=chosen.cache)
    except SystemExit as ended:
        code = ended.code
    # Libraries that the template loaded (Triton's) complain when an interpreter takes itself apart.
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _collect(chosen: argparse.Namespace) -> None:
    from equipoise_runner import linux, pod, signals  # noqa: PLC0415
    from equipoise_runner.assignment import from_files  # noqa: PLC0415

    signals.end_on_signals()
    linux.forbid_inspection()
    assignment = from_files(chosen.planned_block, chosen.record_key_file, chosen.output)
    sealed = pod.measure(assignment.planned, assignment.record_key, chosen.socket)
    from equipoise_runner.collector import record  # noqa: PLC0415

    record.write(sealed, assignment.output)


def _pod_collect(chosen: argparse.Namespace) -> None:
    from equipoise_runner import pod, signals  # noqa: PLC0415

    signals.end_on_signals()
    pod.collect(chosen.attempt, chosen.socket)


def _local(chosen: argparse.Namespace) -> None:
    from equipoise_runner import local, signals  # noqa: PLC0415
    from equipoise_runner.assignment import from_files  # noqa: PLC0415

    signals.end_on_signals()
    if chosen.serve:
        local.serve(sys.stdin, sys.stdout, cache=chosen.cache)
        return
    if None in (chosen.planned_block, chosen.record_key_file, chosen.output):
        raise RunnerFault("local needs --planned-block, --record-key-file and --output, or --serve")
    assignment = from_files(chosen.planned_block, chosen.record_key_file, chosen.output)
    for _output in local.measure([assignment], cache=chosen.cache):
        pass


if __name__ == "__main__":
    sys.exit(main())
