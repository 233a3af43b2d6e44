"""Whether a record is of the pod that the API server saw: R18 (images), R34 (pod, node, times).

Called by `check`. Pure. On one machine there is no pod and nothing to say. On a cluster the pod's
own word is held against what the API server and the node's kubelet say of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from equipoise_protocol import constants
from equipoise_protocol.finding import Finding
from equipoise_protocol.judged import JudgedRecord
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.validation.held import Held, block_named, fault
from equipoise_protocol.vocabulary import Severity

NANOSECONDS = 1_000_000_000


def foreign(held: Held, observed: PodObservation | None) -> tuple[Finding, ...]:
    """Whether the record was made in another pod than the attempt's (R34)."""
    found = held.record.provenance
    if observed is None or (found.pod, found.node) == (observed.pod, observed.node):
        return ()
    said = f"pod {found.pod} on node {found.node}" if found.pod else "no pod"
    return (
        fault(
            "R34",
            "ForeignPod",
            severity=Severity.REFUSAL,
            subject=held.subject,
            message=(
                f"The record says that it was made in {said}; the API server bound this attempt to"
                f" pod {observed.pod} on node {observed.node}."
            ),
        ),
    )


def findings(
    held: Held, observed: PodObservation | None, *, earlier: JudgedRecord | None
) -> tuple[Finding, ...]:
    """Whether what is known of the pod fits the record and its class (R18, R34)."""
    if observed is None:
        return tuple(_unobserved(held))
    return (*_time(held, observed), *_images(held, observed, earlier))


def _unobserved(held: Held) -> Iterator[Finding]:
    """A record that names a pod of which nobody else says anything."""
    found = held.record.provenance
    if found.pod:
        yield fault(
            "R34",
            "NotObserved",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The record says that it was made in pod {found.pod} on node {found.node}; the pod"
                " was gone before the validator could ask the API server about it."
            ),
            remedy="Let ended pods stay until their record is in the ledger.",
        )


def _time(held: Held, observed: PodObservation) -> Iterator[Finding]:
    """A block can't last longer than the container that measured it; clocks of day don't enter."""
    started, finished = _moment(observed.started_at), _moment(observed.finished_at)
    if started is None or finished is None:
        return
    lived = (finished - started).total_seconds()
    lasted = held.record.whole_nanoseconds / NANOSECONDS
    if lasted > lived + constants.POD_TIME_TOLERANCE.value:
        yield fault(
            "R34",
            "LongerThanItsPod",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The block lasted {lasted:.1f} s by the collector's clock; its container lived"
                f" {lived:.0f} s by its kubelet's, and {constants.POD_TIME_TOLERANCE.value} s more"
                " would be within the clocks' resolution."
            ),
            remedy="Look at the node's clock, and run the block again.",
        )


def _images(
    held: Held, observed: PodObservation, earlier: JudgedRecord | None
) -> Iterator[Finding]:
    """Every block of a class runs the same images."""
    before = earlier.observed if earlier is not None else None
    if earlier is None or before is None:
        return
    differing = [
        f"container {name} ran {observed.images.get(name, 'nothing')}, earlier"
        f" {before.images.get(name, 'nothing')}"
        for name in sorted({*observed.images, *before.images})
        if observed.images.get(name) != before.images.get(name)
    ]
    if differing:
        yield fault(
            "R18",
            "ImageDiffers",
            severity=Severity.VOID,
            subject=held.subject,
            message=(
                f"The block ran another image than {block_named(earlier.record.identity)}:"
                f" {'; '.join(differing)}."
            ),
            remedy="Name the runner's image by its digest, and the same one on every node.",
        )


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
