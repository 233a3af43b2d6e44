"""The form of a verdict: what `judgement` decides, the ledger stores and every report shows.

Pure data. Ratios are always "how many times better the treatment is than the baseline": above 1 is
better, whatever the readout's direction.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise_protocol.finding import Finding
from equipoise_protocol.provenance import Fact
from equipoise_protocol.vocabulary import (
    Digest,
    Direction,
    Model,
    Name,
    PortabilityKind,
    ReadoutName,
    Reason,
    Separation,
    VerdictKind,
)

Figure = Annotated[float, Field(allow_inf_nan=False)]
"""A float in canonical form: 12 significant digits (R35)."""

Count = Annotated[int, Field(ge=0)]


class Ratio(Model):
    """A ratio with its interval."""

    estimate: Figure
    low: Figure
    high: Figure
    level_basis_points: Annotated[int, Field(ge=1, le=10_000)]
    """Confidence level of the interval: 9500 is 95 %."""
    method: Fact
    """StudentT or Bca."""
    blocks: Count
    """Blocks that it rests on."""
    sign_flip_p: Figure
    """Two-sided p of the sign-flip permutation test that the ratio is 1."""
    equivalence_p: Figure
    """Larger p of the two one-sided tests against the registered margin."""
    standard_deviation: Figure
    """Of the blocks' log-ratios."""
    cautions: Annotated[tuple[Fact, ...], Field(max_length=16)] = ()


class BlockCounts(Model):
    """What became of the planned blocks."""

    planned: Count
    valid: Count
    void: Count
    """Void attempts; each was recorded with its reason."""


class Headroom(Model):
    """How far the fastest honest baseline is from the best that the machine allows (R26)."""

    baseline_seconds: Figure
    """Geometric mean over shapes of the baseline's time a call."""
    wall_seconds: Figure
    """Geometric mean over shapes of the wall."""
    ratio: Figure
    """Baseline over wall: 1 is at the wall."""
    bound: Fact
    """What makes the wall for most shapes: Memory, Compute or NoOp."""
    saturated: bool


class Verdict(Model):
    """The rule's answer for one comparison on one node class at one look (R27)."""

    version: Annotated[int, Field(ge=1)] = 1
    registration_digest: Digest
    protocol_digest: Digest
    campaign: Name
    comparison: Name
    node_class: Name
    look: Annotated[int, Field(ge=1, le=10)]
    looks: Annotated[int, Field(ge=1, le=10)]
    final: bool
    """Whether this look ends the comparison."""
    readout: ReadoutName
    direction: Direction
    treatment: Name
    honest_baseline: Name | None
    """The fastest valid honest baseline, chosen on selection blocks."""
    naive_baseline: Name | None
    verdict: VerdictKind
    reasons: Annotated[tuple[Reason, ...], Field(max_length=16)]
    sentence: Annotated[str, Field(min_length=1, max_length=1_000)]
    """The verdict in words."""
    honest_ratio: Ratio | None
    naive_ratio: Ratio | None
    strawman_index: Figure | None
    """Naive ratio over honest ratio."""
    blocks: BlockCounts
    blocks_needed: Count | None
    """For an inconclusive verdict: estimation blocks in all that would decide it with 90 %
    power."""
    cross_run_cv: Annotated[dict[Name, Figure], Field(max_length=16)]
    """Each arm's coefficient of variation across runs."""
    headroom: Headroom | None
    separation: Separation | None
    findings: Annotated[tuple[Finding, ...], Field(max_length=1_000)]
    records: Annotated[tuple[Digest, ...], Field(max_length=100_000)]
    """Digests of the block records that it rests on, in ledger order."""


class ClassRatio(Model):
    """One node class's part of a portability verdict."""

    node_class: Name
    verdict: VerdictKind
    ratio: Ratio | None


class LargestDifference(Model):
    """The two node classes that differ most, as the ratio between their ratios."""

    larger_on: Name
    smaller_on: Name
    ratio: Figure
    """At least 1."""
    low: Figure
    high: Figure
    equivalence_p: Figure
    """Larger p of the two one-sided tests that they differ by less than the margin."""


class Portability(Model):
    """Whether a comparison's ratio holds across its node classes (R29)."""

    version: Annotated[int, Field(ge=1)] = 1
    registration_digest: Digest
    campaign: Name
    comparison: Name
    verdict: PortabilityKind
    sentence: Annotated[str, Field(min_length=1, max_length=1_000)]
    classes: Annotated[tuple[ClassRatio, ...], Field(max_length=16)]
    heterogeneity_q: Figure | None
    """Cochran's Q over the classes' log-ratios."""
    heterogeneity_p: Figure | None
    i_squared: Figure | None
    """Share of the spread between classes that is not chance, 0 to 1."""
    largest_difference: LargestDifference | None
    reasons: Annotated[tuple[Fact, ...], Field(max_length=16)]
    """CamelCase, from decision 0004, or ClassWithoutRatio."""
    blocks_needed: Count | None
    """For an inconclusive one: estimation blocks on each class that would decide it with 90 %
    power."""


class Verdicts(Model):
    """The file `verdicts.json`."""

    version: Annotated[int, Field(ge=1)] = 1
    campaign: Name
    question: Annotated[str, Field(max_length=2_000)]
    registration_digest: Digest
    protocol_version: Fact
    protocol_digest: Digest
    complete: bool
    """Whether every comparison has its final verdict."""
    verdicts: Annotated[tuple[Verdict, ...], Field(max_length=1_024)]
    portability: Annotated[tuple[Portability, ...], Field(max_length=64)]
