"""From a registration to planned blocks: order, seeds and nonces (R08, R09, R34).

Called by the local executor and the validator controller. Pure: everything random is an HMAC of the
campaign's secret, so that a restart plans the same blocks and `verify` can recompute them once the
secret is published.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from itertools import chain

from equipoise_protocol.block import (
    BlockIdentity,
    Effort,
    KernelWork,
    PlannedArm,
    PlannedBlock,
)
from equipoise_protocol.canonical import canonical_bytes
from equipoise_protocol.registration import Registration, registration_digest
from equipoise_protocol.spec import CampaignSpec
from equipoise_protocol.vocabulary import Phase


@dataclass(frozen=True, slots=True, order=True)
class BlockKey:
    """Names a block within a campaign."""

    block: int
    comparison: str
    node_class: str


def block_keys(spec: CampaignSpec) -> tuple[BlockKey, ...]:
    """Every block of the campaign in the order in which one machine measures them.

    Block by block across comparisons and classes, so that slow drift of a machine meets all of them
    alike.
    """
    total = spec.design.selection_blocks + spec.design.blocks
    return tuple(
        BlockKey(block=block, comparison=comparison.name, node_class=name)
        for block in range(1, total + 1)
        for comparison in spec.comparisons
        for name in spec.node_classes
    )


def phase_of(registration: Registration, block: int) -> Phase:
    """Selection for a comparison's first blocks, estimation for the rest."""
    selection = block <= registration.spec.design.selection_blocks
    return Phase.SELECTION if selection else Phase.ESTIMATION


def derive(
    secret: str, purpose: str, registration: Registration, *, key: BlockKey, attempt: int
) -> bytes:
    """32 bytes for one purpose of one attempt: HMAC-SHA-256 under the campaign's secret (R08).

    The message is canonical JSON of purpose, registration digest, comparison, class, block, attempt
    and the candidate digests, so that no two attempts and no two purposes share a value.
    """
    candidates: list[object] = [
        [source.arm, source.digest]
        for source in registration.sources
        if source.comparison == key.comparison
    ]
    message = canonical_bytes(
        [
            purpose,
            registration_digest(registration),
            key.comparison,
            key.node_class,
            key.block,
            attempt,
            candidates,
        ]
    )
    return hmac.new(bytes.fromhex(secret), message, hashlib.sha256).digest()


def williams_rows(arms: int) -> tuple[tuple[int, ...], ...]:
    """Rows of a Williams square: positions and ordered pairs of neighbours are balanced.

    Williams, E. J. (1949), Australian Journal of Scientific Research A 2, 149-168: first row
    0, 1, n-1, 2, n-2, ...; the others by adding 1 modulo n. An odd n needs the reversed rows as
    well.
    """
    first = [0]
    low, high = 1, arms - 1
    while len(first) < arms:
        first.append(low)
        low += 1
        if len(first) < arms:
            first.append(high)
            high -= 1
    rows = [tuple((step + shift) % arms for step in first) for shift in range(arms)]
    mirrored = [row[::-1] for row in rows] if arms % 2 else []
    return tuple(chain(rows, mirrored))


def run_order(names: tuple[str, ...], draw: bytes) -> tuple[str, ...]:
    """Arms of a block in the order of their runs: a Williams row and its mirror image.

    Two arms give A B B A or B A A B; every arm runs twice, and a linear drift cancels within the
    block. The row is picked by the first eight bytes of `draw`; 2^64 is so far above the number of
    rows that the modulo's bias is below 1e-17.
    """
    rows = williams_rows(len(names))
    row = rows[int.from_bytes(draw[:8], "big") % len(rows)]
    there = tuple(names[index] for index in row)
    return there + there[::-1]


def record_key(secret: str, registration: Registration, *, key: BlockKey, attempt: int) -> str:
    """The key that authenticates this attempt's record, hexadecimal; the collector alone has it."""
    return derive(secret, "record-key", registration, key=key, attempt=attempt).hex()


def plan_block(
    registration: Registration,
    *,
    key: BlockKey,
    attempt: int,
    secret: str,
    contents: dict[tuple[str, str], str],
) -> PlannedBlock:
    """What the collector is asked to do for one attempt at a block.

    Args:
        registration: the frozen campaign.
        key: which block.
        attempt: from 1.
        secret: the campaign's secret, hexadecimal.
        contents: text of each source by (comparison, arm or empty for the problem).
    """
    comparison = registration.comparison_named(key.comparison)
    task, design = comparison.task.kernel, registration.spec.design
    registered = registration.class_named(key.node_class)
    names = tuple(arm.name for arm in comparison.arms)
    drill = next(
        (one.defect for one in design.drills if one.block == key.block and attempt == 1), None
    )
    return PlannedBlock(
        identity=BlockIdentity(
            protocol_digest=registration.protocol_digest,
            registration_digest=registration_digest(registration),
            campaign=registration.campaign,
            comparison=key.comparison,
            node_class=key.node_class,
            block=key.block,
            attempt=attempt,
            phase=phase_of(registration, key.block),
            nonce=derive(secret, "nonce", registration, key=key, attempt=attempt).hex(),
        ),
        seed=derive(secret, "seed", registration, key=key, attempt=attempt).hex(),
        order=run_order(names, derive(secret, "order", registration, key=key, attempt=attempt)),
        arms=tuple(
            PlannedArm(
                name=arm.name,
                mode=arm.kernel.mode,
                source=contents.get((comparison.name, arm.name), ""),
            )
            for arm in comparison.arms
        ),
        work=KernelWork(
            problem=contents[comparison.name, ""],
            shapes=task.shapes,
            held_out_shapes=task.held_out_shapes,
            dtype=task.precision.dtype,
            allow_tf32=task.precision.allow_tf32,
            cache=task.cache,
            tolerance_basis_points=task.tolerance_basis_points,
        ),
        effort=Effort(
            warm_ups=design.warm_ups,
            values=design.values,
            run_timeout_seconds=design.run_timeout_seconds,
        ),
        environment=registered.environment,
        drill=drill,
    )
