"""How to check this report and how to measure again: commands, digests, seeds.

Called by `page`. Commands are relative to the folder that holds the report, its ledger and its copy
of the campaign file. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_operator.report.data import ReportData


@dataclass(frozen=True, slots=True)
class Command:
    """A line for a shell and what it does."""

    line: str
    does: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that another person needs."""

    commands: tuple[Command, ...]
    digests: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str], ...]
    """(what, digest) of each source."""
    version: str
    """Of the program that measured, where records say so."""
    seeds: str
    """What is known of the secret, in a sentence."""


def recipe(data: ReportData) -> Recipe:
    """The recipe for one campaign."""
    registration = data.registration
    digests = [
        ("Registration", data.registration_digest),
        ("Registered at", registration.registered_at),
        ("Protocol version", registration.protocol_version),
        ("Protocol digest", registration.protocol_digest),
        ("Ledger entries", str(data.head.size)),
        ("Ledger head", data.head.hash),
        ("Secret commitment", registration.secret_commitment),
    ]
    if data.secret is not None:
        digests.append(("Secret", data.secret))
    if registration.spec.amends is not None:
        digests.append(("Amends", registration.spec.amends))
    return Recipe(
        commands=(
            Command(
                f"equipoise verify . --head {data.head.size}:{data.head.hash}",
                "recomputes chain, findings, statistics and verdicts from the raw values, on any"
                " machine; the head, which this report keeps, finds a ledger cut or forked since",
            ),
            Command(
                "equipoise run campaign.yaml --out again",
                "measures the same campaign anew, under a registration and a secret of its own",
            ),
        ),
        digests=tuple(digests),
        sources=tuple(
            (f"{one.comparison}, {one.arm or 'problem'}", one.digest)
            for one in registration.sources
        ),
        version=" or ".join(
            dict.fromkeys(one.record.provenance.software.runner_version for one in data.records)
        ),
        seeds=_seeds(data),
    )


def _seeds(data: ReportData) -> str:
    derived = (
        "Each attempt's seed is HMAC-SHA-256 of registration digest, comparison, node class, block,"
        " attempt and source digests under the campaign's secret"
    )
    if data.secret is None:
        return (
            f"{derived}. The secret is committed to by its SHA-256 and not yet published; it enters"
            " the ledger when the campaign ends."
        )
    return f"{derived}, which is published below; verify holds it against its commitment."
