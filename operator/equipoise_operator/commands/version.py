"""`equipoise version`: of the program and of the protocol that it judges by."""

from __future__ import annotations

from importlib import metadata

from equipoise_operator import protocol_digest
from equipoise_operator.commands import terminal
from equipoise_operator.commands.asked import OutputOption
from equipoise_operator.commands.terminal import Output


def version(*, output: OutputOption = Output.TEXT) -> None:
    """Show the versions of the program and of the protocol."""
    program, protocol = metadata.version("equipoise"), protocol_digest.identity()
    if output is Output.JSON:
        terminal.print_json(
            {
                "version": program,
                "protocolVersion": protocol.version,
                "protocolDigest": protocol.digest,
                "protocolAsRecorded": protocol.is_as_recorded,
            }
        )
        return
    changed = "" if protocol.is_as_recorded else " (not the recorded one: its files were changed)"
    terminal.out().print(f"equipoise {program}")
    terminal.out().print(f"protocol {protocol.version} {protocol.digest}{changed}")
