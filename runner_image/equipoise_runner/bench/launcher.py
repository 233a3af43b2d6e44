"""The launcher: loads the template, then forks a supervisor for each run that it is asked for.

Called by `__main__` (`bench`). It holds no secret: neither seed nor answer nor time ever reaches
it. It never reads what an arm writes. When the collector goes away it ends whatever runs, and ends.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from equipoise_runner import accounts, linux
from equipoise_runner.bench import census, forked
from equipoise_runner.bench.channel import Channel, Closed, shut
from equipoise_runner.bench.choice import best_sandbox
from equipoise_runner.bench.sandbox import Sandbox
from equipoise_runner.bench.template import Template
from equipoise_runner.bench.wire import control
from equipoise_runner.bench.wire.message import LONGEST_WORDS, Garbled, Kind

FOREVER_SECONDS = 7 * 86_400.0
"""A launcher waits for its collector as long as that; a closed connection ends the wait at once."""


def launch(collector: Channel, *, cache: Path | None) -> None:
    """Serve one collector until it hangs up.

    `cache`: folder of prepared caches; None: one that goes with this launcher.
    """
    if cache is None:
        with tempfile.TemporaryDirectory(prefix="equipoise-cache-") as folder:
            launch(collector, cache=Path(folder))
        return
    linux.forbid_inspection()
    linux.adopt_orphans()
    try:
        wanted = collector.expect(control.Open, seconds=FOREVER_SECONDS)
        _see_cpus(collector, wanted.cpus)
        template = Template.load(wanted)
        sandbox = best_sandbox(cache)
        which, descriptors = accounts.opened()
        collector.send(control.Loaded(sandbox.apart, which), descriptors)
        shut(descriptors)
        while True:
            _serve(collector, template=template, sandbox=sandbox)
    except Closed:
        return
    finally:
        census.end_all(lambda: census.descendants(os.getpid()))


def _see_cpus(collector: Channel, wanted: tuple[int, ...]) -> None:
    """Say so, and end, where the collector has chosen CPUs that this process may not use."""
    allowed = os.sched_getaffinity(0)
    if not allowed.issuperset(wanted):
        words = (
            f"the collector measures on CPU {_listed(wanted)}, and the bench may use CPU"
            f" {_listed(allowed)} alone: give both the same CPUs. A static CPU manager gives each"
            " container of a pod its own; request CPUs in a way that it leaves alone (no whole"
            " number, or limits above requests)"
        )
        collector.send(control.Fault(words.encode()[:LONGEST_WORDS]))
        raise Closed("there are no CPUs to share")


def _listed(cpus: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))


def _serve(collector: Channel, *, template: Template, sandbox: Sandbox) -> None:
    received = collector.receive(seconds=FOREVER_SECONDS)
    if received.content[0] == Kind.LOOK:
        key = control.Look.decode(received.content).key
        collector.send(control.Found(sandbox.caches.find(key) is not None))
        return
    start = control.Start.decode(received.content)
    if len(received.descriptors) != control.START_DESCRIPTORS:
        shut(received.descriptors)
        raise Garbled(f"Start came with {len(received.descriptors)} descriptors")
    # Imported by the template, after torch's variables.
    from equipoise_runner.bench.entry import Run  # noqa: PLC0415
    from equipoise_runner.bench.supervisor import supervise  # noqa: PLC0415

    process = forked.child(
        lambda: supervise(
            collector,
            Run(start.task, *received.descriptors),
            template=template,
            sandbox=sandbox.for_run(start.number),
        )
    )
    shut(received.descriptors)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        cleared = census.end_all(lambda: census.descendants(os.getpid()))
        left = "are gone" if cleared else "can't be ended"
        words = f"the run's supervisor ended with {code}; its processes {left}"
        with contextlib.suppress(Closed):
            collector.send(control.Fault(words.encode()[:LONGEST_WORDS]))
