"""Whether a machine reproduces the published figures of its class: R25.

Called by `validation.check` with a block's walls. Pure. A machine that misses an anchor isn't
admitted: its block is void, unless the mechanism of the difference was put on record before
(registered with the anchor); then it is a note that stands beside the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise_protocol.block import Wall
from equipoise_protocol.finding import Finding
from equipoise_protocol.rules import RULES
from equipoise_protocol.spec import Anchor
from equipoise_protocol.vocabulary import AnchorQuantity, Severity

BASIS_POINTS = 10_000
UNITS = {
    AnchorQuantity.COPY_BANDWIDTH: "bytes/s",
    AnchorQuantity.MATMUL_RATE: "operations/s",
    AnchorQuantity.NO_OP_TIME: "ns",
}


def findings(
    walls: Sequence[Wall], *, anchors: Sequence[Anchor], subject: str
) -> tuple[Finding, ...]:
    """Anchors that the walls of a block don't reproduce within their band (R25).

    Args:
        walls: the block's walls; none in a block that was broken off, which is void anyway.
        anchors: those of the registered class.
        subject: the block's name for people.
    """
    return tuple(finding for anchor in anchors if walls for finding in _of(anchor, walls, subject))


def figure(quantity: AnchorQuantity, walls: Sequence[Wall]) -> int:
    """The machine's own figure: the best that it did on any of the block's shapes.

    The best, because interruptions and small shapes only make it worse.
    """
    return {
        AnchorQuantity.COPY_BANDWIDTH: max(wall.copy_bytes_per_second for wall in walls),
        AnchorQuantity.MATMUL_RATE: max(wall.matmul_operations_per_second for wall in walls),
        AnchorQuantity.NO_OP_TIME: min(wall.no_op_nanoseconds for wall in walls),
    }[quantity]


def is_reproduced(anchor: Anchor, found: int) -> bool:
    """Whether a figure lies within the anchor's band, either way.

    In integers, so that the edge is the same everywhere.
    """
    return abs(found - anchor.expected) * BASIS_POINTS <= anchor.band_basis_points * anchor.expected


def _of(anchor: Anchor, walls: Sequence[Wall], subject: str) -> Iterator[Finding]:
    found = figure(anchor.quantity, walls)
    if is_reproduced(anchor, found):
        return
    unit = UNITS[anchor.quantity]
    message = (
        f"Anchor {anchor.name} ({anchor.quantity}): this machine did {found:,} {unit}, expected"
        f" {anchor.expected:,} within {anchor.band_basis_points / 100:g} % ({anchor.source})"
    )
    if anchor.mechanism is None:
        severity, kind, message = Severity.VOID, "AnchorMissed", f"{message}."
    else:
        severity, kind = Severity.NOTE, "AnchorDiffers"
        message = f"{message}; the mechanism on record: {anchor.mechanism}"
    yield Finding(
        rule="R25",
        severity=severity,
        subject=f"{subject}, anchor {anchor.name}",
        message=message[:1_000],
        remedy=RULES["R25"].remedy,
        kind=kind,
    )
