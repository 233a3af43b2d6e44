"""R25: a machine reproduces the published figures of its class, or says why it doesn't."""

from __future__ import annotations

import pytest

from builders import a_wall
from equipoise_protocol import anchors
from equipoise_protocol.block import Wall
from equipoise_protocol.spec import Anchor
from equipoise_protocol.vocabulary import AnchorQuantity, Severity

WALLS: tuple[Wall, ...] = (
    a_wall((64, 1024)),
    a_wall(
        (32, 1024),
        copy_bytes_per_second=8_000_000_000,
        matmul_operations_per_second=45_000_000_000,
        no_op_nanoseconds=700,
    ),
)


def an_anchor(quantity: AnchorQuantity, expected: int, **change: object) -> Anchor:
    given: dict[str, object] = {
        "name": "published",
        "quantity": quantity,
        "expected": expected,
        "source": "a vendor's table, 2026",
    }
    return Anchor.model_validate(given | change)


@pytest.mark.parametrize(
    ("quantity", "figure"),
    [
        (AnchorQuantity.COPY_BANDWIDTH, 10_000_000_000),
        (AnchorQuantity.MATMUL_RATE, 50_000_000_000),
        (AnchorQuantity.NO_OP_TIME, 500),
    ],
)
def test_a_machines_figure_is_the_best_over_the_shapes(
    quantity: AnchorQuantity, figure: int
) -> None:
    assert anchors.figure(quantity, WALLS) == figure


@pytest.mark.parametrize("quantity", AnchorQuantity)
def test_every_quantity_has_a_figure_and_a_unit(quantity: AnchorQuantity) -> None:
    assert anchors.figure(quantity, WALLS) > 0
    assert anchors.UNITS[quantity]


@pytest.mark.parametrize(
    ("found", "reproduced"),
    # 10 % of 1000 either way, edges included
    [(900, True), (1_000, True), (1_100, True), (899, False), (1_101, False)],
)
def test_the_band_reaches_to_both_sides(found: int, reproduced: bool) -> None:  # noqa: FBT001
    anchor = an_anchor(AnchorQuantity.NO_OP_TIME, 1_000)
    assert anchors.is_reproduced(anchor, found) is reproduced


def test_an_anchor_within_its_band_is_no_finding() -> None:
    anchor = an_anchor(AnchorQuantity.COPY_BANDWIDTH, 10_500_000_000)
    assert anchors.findings(WALLS, anchors=[anchor], subject="block 1") == ()


@pytest.mark.parametrize("expected", [8_000_000_000, 12_000_000_000])
def test_an_anchor_that_is_missed_either_way_voids_the_block(expected: int) -> None:
    anchor = an_anchor(AnchorQuantity.COPY_BANDWIDTH, expected)
    (found,) = anchors.findings(WALLS, anchors=[anchor], subject="block 1")
    assert (found.rule, found.kind, found.severity) == ("R25", "AnchorMissed", Severity.VOID)
    assert "10,000,000,000 bytes/s" in found.message
    assert "a vendor's table" in found.message


def test_a_mechanism_on_record_admits_the_machine() -> None:
    anchor = an_anchor(
        AnchorQuantity.COPY_BANDWIDTH, 20_000_000_000, mechanism="one memory channel of two"
    )
    (found,) = anchors.findings(WALLS, anchors=[anchor], subject="block 1")
    assert (found.kind, found.severity) == ("AnchorDiffers", Severity.NOTE)
    assert "one memory channel of two" in found.message


def test_a_wide_band_is_registered_with_the_anchor() -> None:
    anchor = an_anchor(AnchorQuantity.NO_OP_TIME, 1_000, band_basis_points=5_000)
    assert anchors.findings(WALLS, anchors=[anchor], subject="block 1") == ()


def test_a_block_without_walls_is_voided_elsewhere() -> None:
    anchor = an_anchor(AnchorQuantity.NO_OP_TIME, 1_000)
    assert anchors.findings((), anchors=[anchor], subject="block 1") == ()
