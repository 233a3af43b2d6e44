"""Verdicts of several campaigns side by side: ratios only.

Called by `equipoise compare`. Pure but for `read`. Times of different machines and days are never
put beside each other (R28, R29); whoever wants to test whether ratios agree registers a campaign
with two node classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from equipoise_operator.errors import UsageError
from equipoise_protocol.verdict import Verdict, Verdicts

MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One campaign that is compared."""

    name: str
    """What the user called it."""
    verdicts: Verdicts


@dataclass(frozen=True, slots=True)
class ComparedQuestion:
    """One question in every campaign; None where a campaign doesn't ask it or has no verdict."""

    comparison: str
    node_class: str
    verdicts: tuple[Verdict | None, ...]


def read(path: Path) -> Side:
    """The verdicts of a campaign's folder, or of a `verdicts.json`.

    Raises:
        UsageError: neither of them.
    """
    file = path / "verdicts.json" if path.is_dir() else path
    hint = (
        "Expected a campaign's folder or its verdicts.json: ratios are compared, and never times,"
        " which don't carry over between machines and days (R28, R29)."
    )
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        verdicts = Verdicts.model_validate_json(content)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}. {hint}") from error
    except ValidationError as error:
        raise UsageError(f"{file} holds no verdicts. {hint}") from error
    return Side(name=str(path), verdicts=verdicts)


def compared(sides: Sequence[Side]) -> tuple[ComparedQuestion, ...]:
    """Every question that any campaign has a verdict for, in the order they come. Pure."""
    keys = dict.fromkeys(
        (one.comparison, one.node_class) for side in sides for one in side.verdicts.verdicts
    )
    return tuple(
        ComparedQuestion(
            comparison,
            node_class,
            tuple(_verdict(side.verdicts, comparison, node_class) for side in sides),
        )
        for comparison, node_class in keys
    )


def cautions(sides: Sequence[Side]) -> tuple[str, ...]:
    """Why the ratios of these campaigns may differ although nothing was changed. Pure."""
    found: list[str] = []
    protocols = {side.verdicts.protocol_digest for side in sides}
    if len(protocols) > 1:
        found.append("The campaigns were judged under different protocols: see the changelog.")
    for question in compared(sides):
        verdicts = [one for one in question.verdicts if one is not None]
        name = f"{question.comparison} on {question.node_class}"
        baselines = {one.honest_baseline for one in verdicts if one.honest_baseline is not None}
        if len(baselines) > 1:
            found.append(f"{name}: the honest baselines differ ({', '.join(sorted(baselines))}).")
        if len({one.readout for one in verdicts}) > 1:
            found.append(f"{name}: the primary readouts differ.")
        if len({one.treatment for one in verdicts}) > 1:
            found.append(f"{name}: the treatments bear different names.")
    return tuple(found)


def _verdict(verdicts: Verdicts, comparison: str, node_class: str) -> Verdict | None:
    for one in verdicts.verdicts:
        if one.comparison == comparison and one.node_class == node_class:
            return one
    return None
