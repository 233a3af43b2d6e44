"""What the protocol's enumerations mean, in a sentence each, and a verdict's sign.

Read by the report's page. Explains and never decides; a test holds every enumeration complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from equipoise_protocol.vocabulary import (
    PortabilityKind,
    Separation,
    VerdictKind,
)

SIGNS: Final[Mapping[VerdictKind, str]] = MappingProxyType(
    {
        VerdictKind.IMPROVEMENT: "▲",
        VerdictKind.REGRESSION: "▼",
        VerdictKind.EQUIVALENCE: "~",
        VerdictKind.INCONCLUSIVE: "?",
        VerdictKind.VOID: "\N{MULTIPLICATION SIGN}",
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

WALLS: Final[Mapping[str, str]] = MappingProxyType(
    {"Memory": "memory", "Compute": "compute", "NoOp": "no-op"}
)
"""What makes a wall, within a sentence."""

SEPARATIONS: Final[Mapping[Separation, str]] = MappingProxyType(
    {
        Separation.SEPARATE_USERS: (
            "Separate users: every run had a user id and process, network, mount and IPC namespaces"
            " of its own, out of reach of the collector that kept the clock and the answers."
        ),
        Separation.SEPARATE_CONTAINERS: (
            "Separate containers: collector and arms ran in two containers of a pod, with different"
            " user ids, processes and files. All runs shared one user id, one after the other;"
            " before each of them a census of the whole container found nothing left of the last"
            " one."
        ),
        Separation.SAME_USER: (
            "Same user: the arms ran under the collector's own user id, without namespaces. A"
            " hostile candidate could have reached files and processes of that user. Start the"
            " campaign as root for the full separation."
        ),
    }
)

LIMITS: Final[tuple[str, ...]] = (
    (
        "Native code in an arm's process can still bend the times that this process reports about"
        " itself. The verdict rests on the collector's own clock, the physical floor, checked"
        " outputs and cold re-measurement; they bound what such code can gain, and don't make it"
        " impossible."
    ),
    (
        "The ledger proves order and integrity: what was registered before what was measured, and"
        " that nothing was changed since. It does not prove that a measurement was true."
    ),
    (
        "Whoever owns the database and the secret can rewrite what lies before the first checkpoint"
        " that somebody else has seen. Keep the head of the ledger, below, in a place that is not"
        " this machine."
    ),
    (
        "A ratio holds for the registered task, shapes, number format, cache state and node class."
        " Absolute times are not comparable between machines and are never pooled."
    ),
    "An interval speaks of blocks like those measured: this machine, in this state, in that hour.",
)
"""Design, section 9, and what the statistics can't promise."""
