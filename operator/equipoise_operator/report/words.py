"""What the protocol's enumerations mean, in a sentence each, and the sign that stands for a verdict.

Read by the report's page. Explains and never decides; a test holds every enumeration complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from equipoise_protocol.vocabulary import (
    PortabilityKind,
    Reason,
    RunStatus,
    Separation,
    VerdictKind,
)

SIGNS: Final[Mapping[VerdictKind, str]] = MappingProxyType(
    {
        VerdictKind.IMPROVEMENT: "▲",
        VerdictKind.REGRESSION: "▼",
        VerdictKind.EQUIVALENCE: "~",
        VerdictKind.INCONCLUSIVE: "?",
        VerdictKind.VOID: "×",
    }
)
"""A verdict without colour: for who can't see it, and for paper."""

TRANSFER_SIGNS: Final[Mapping[PortabilityKind, str]] = MappingProxyType(
    {
        PortabilityKind.TRANSFERS: "=",
        PortabilityKind.DOES_NOT_TRANSFER: "≠",
        PortabilityKind.INCONCLUSIVE: "?",
    }
)

TRANSFER_NAMES: Final[Mapping[PortabilityKind, str]] = MappingProxyType(
    {
        PortabilityKind.TRANSFERS: "Transfers",
        PortabilityKind.DOES_NOT_TRANSFER: "Does not transfer",
        PortabilityKind.INCONCLUSIVE: "Inconclusive",
    }
)

REASONS: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.SATURATED: (
            "The honest baseline is at the wall: the machine allows nothing faster, so that no"
            " treatment could win here."
        ),
        Reason.UNSTABLE: (
            "Runs of an arm scatter more than the registered cap allows, or void blocks gather on"
            " one arm: that is a property of the arm, not of the machine."
        ),
        Reason.QUARANTINED: (
            "The ratio is above the breaker: too good to count before it was measured again cold."
        ),
        Reason.UNDERPOWERED: (
            "There are too few blocks to tell a difference from none at the registered error rate."
        ),
        Reason.CANDIDATE_REFUSED: (
            "The candidate broke a rule of the protocol; it can't win, however fast it looks."
        ),
        Reason.CANDIDATE_FAILED: "The candidate did not run to its end.",
        Reason.NO_HONEST_BASELINE: (
            "No honest baseline gave valid runs, so that there is nothing worth comparing with."
        ),
        Reason.TOO_FEW_BLOCKS: "Fewer valid blocks are there than were registered.",
        Reason.ANCHOR_MISSED: (
            "The machine did not reproduce an anchor of its node class, so that its blocks don't count."
        ),
        Reason.SMALLER_THAN_MINIMUM_EFFECT: (
            "There is a difference, and it is smaller than the registered smallest effect worth having."
        ),
    }
)

SEPARATIONS: Final[Mapping[Separation, str]] = MappingProxyType(
    {
        Separation.SEPARATE_USERS: (
            "Separate users: every run had a user id, process, network, mount and IPC namespaces of its"
            " own, out of reach of the collector that kept the clock and the answers."
        ),
        Separation.SAME_USER: (
            "Same user: the arms ran under the collector's own user id, without namespaces. A hostile"
            " candidate could have reached files and processes of that user. Start the campaign as root"
            " for the full separation."
        ),
    }
)

STATUSES: Final[Mapping[RunStatus, str]] = MappingProxyType(
    {
        RunStatus.COMPLETED: "completed",
        RunStatus.LOAD_ERROR: "could not be loaded",
        RunStatus.COMPILE_ERROR: "could not be compiled",
        RunStatus.CALL_ERROR: "raised in a call",
        RunStatus.WRONG_OUTPUT_FORM: "returned something of the wrong form",
        RunStatus.TIMED_OUT: "took too long",
        RunStatus.DIED: "died",
        RunStatus.OUT_OF_MEMORY: "ran out of memory",
    }
)

LIMITS: Final[tuple[str, ...]] = (
    "Native code in an arm's process can still bend the times that this process reports about itself."
    " The verdict rests on the collector's own clock, the physical floor, checked outputs and cold"
    " re-measurement; they bound what such code can gain, and don't make it impossible.",
    "The ledger proves order and integrity: what was registered before what was measured, and that"
    " nothing was changed since. It does not prove that a measurement was true.",
    "Whoever owns the database and the secret can rewrite what lies before the first checkpoint that"
    " somebody else has seen. Keep the head of the ledger, below, in a place that is not this machine.",
    "A ratio holds for the registered task, shapes, number format, cache state and node class. Absolute"
    " times are not comparable between machines and are never pooled.",
    "An interval speaks of blocks like those measured: this machine, in this state, in that hour.",
)
"""Design, section 9, and what the statistics can't promise."""
