"""What `equipoise verify` does: recomputes a ledger and prints what doesn't agree."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output
from equipoise_operator.errors import UsageError
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.local.folder import CampaignFolder, existing
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.verification import verify as recomputed
from equipoise_operator.verification_result import Verification
from equipoise_protocol.ledger.entry import Head
from equipoise_protocol.registration import commitment, registration_digest


def verify(directory: Path | None, *, head: str | None, output: Output) -> ExitCode:
    """Recomputes a campaign's ledger.

    Args:
        directory: the campaign's folder.
        head: `SIZE:HASH` of a head that was kept outside the ledger.
        output: form of the result.
    """
    folder = existing(directory)
    found = recomputed(folder.ledger, expected_head=_head(head), secrets=_unpublished(folder))
    if output is Output.JSON:
        terminal.print_json(_as_json(found))
    else:
        _show(found)
    return ExitCode.FAULT_FOUND if found.faults else ExitCode.DONE


def _head(text: str | None) -> Head | None:
    if text is None:
        return None
    size, _, digest = text.partition(":")
    if not size.isdigit() or not digest:
        raise UsageError(
            f"--head {text} was given; expected SIZE:HASH, as `equipoise verify` prints it."
        )
    return Head(int(size), digest)


def _unpublished(folder: CampaignFolder) -> dict[str, str]:
    """The secret of a campaign under way, so that its records can be authenticated already."""
    with suppress(OSError, ValueError):
        secret = folder.secret.read_text(encoding="ascii").strip()
        with open_ledger(folder.ledger, read_only=True) as ledger:
            return {
                registration_digest(one): secret
                for one in ledger.registrations()
                if one.secret_commitment == commitment(secret)
            }
    return {}


def _show(found: Verification) -> None:
    console = terminal.out()
    first = found.first
    if first is not None:
        console.print(f"first fault: {first.sentence()}", style="red")
        for fault in found.faults:
            if fault is not first:
                console.print(f"also: {fault.sentence()}")
    for reason in found.unchecked:
        console.print(f"not checked: {reason}")
    counts = ", ".join(f"{count} {kind.value}" for kind, count in found.counts.items() if count)
    verdict = "everything recomputes" if first is None else f"{len(found.faults)} fault(s)"
    console.print(f"{verdict}: {found.head.size} entries ({counts})")
    console.print(f"head: {found.head.size}:{found.head.hash}")


def _as_json(found: Verification) -> dict[str, object]:
    return {
        "version": 1,
        "faults": [
            {"entry": one.seq, "kind": one.kind, "rule": one.rule, "message": one.message}
            for one in found.faults
        ],
        "unchecked": list(found.unchecked),
        "counts": {kind.value: count for kind, count in found.counts.items()},
        "head": {"size": found.head.size, "hash": found.head.hash},
    }
