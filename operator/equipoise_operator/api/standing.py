"""A question's standing as fields of a Comparison's status, and back. Pure.

Written by the validator, read by the operator.
"""

from __future__ import annotations

from typing import Any

from equipoise_operator.api import ranges
from equipoise_operator.api.status import BlockRetries, ComparisonResults, OpenAttempt
from equipoise_operator.campaign.standing import Retried, Standing, Under


def fields_of(standing: Standing) -> dict[str, Any]:
    """The fields of `ComparisonResults` that say where a question stands, by their names. Pure.

    All of them are always given, the empty text of no settled block too: a status without
    `settledBlocks` is one that the validator hasn't written yet.
    """
    return {
        "settled_blocks": ranges.written(standing.settled),
        "retries": tuple(
            BlockRetries(block=one.block, attempts=one.attempts, spent=one.spent)
            for one in standing.retried
        ),
        "open_attempts": tuple(
            OpenAttempt(block=one.block, attempt=one.attempt) for one in standing.under_way
        ),
        "looks_taken": standing.looks_taken,
        "stopped": standing.stopped,
        "final": standing.final,
    }


def standing_of(results: ComparisonResults) -> Standing | None:
    """Where the question stands; None before the validator has said so. Pure.

    Raises:
        ValueError: the settled blocks are not in the form that `fields_of` gives.
    """
    if results.settled_blocks is None:
        return None
    return Standing(
        settled=ranges.read(results.settled_blocks),
        retried=tuple(
            Retried(block=one.block, attempts=one.attempts, spent=one.spent)
            for one in results.retries or ()
        ),
        under_way=tuple(
            Under(block=one.block, attempt=one.attempt) for one in results.open_attempts or ()
        ),
        looks_taken=results.looks_taken or 0,
        final=bool(results.final),
        stopped=bool(results.stopped),
    )
