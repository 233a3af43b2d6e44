"""What is wrong with a campaign file: faults with their places.

Made by `campaign_file`, shown by the command line. Pure data, and quick to import: the command line
needs it even where no campaign is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from equipoise_operator.campaign_yaml import Position
from equipoise_operator.errors import UsageError
from equipoise_protocol.lint_fault import Fault


@dataclass(frozen=True, slots=True)
class LocatedFault:
    """A fault with its place in the file."""

    position: Position
    fault: Fault


class FaultyFileError(UsageError):
    """A campaign file with faults; carries them all."""

    def __init__(self, file: Path, faults: tuple[LocatedFault, ...]) -> None:
        """Keeps the file and its faults."""
        self.file = file
        self.faults = faults
        super().__init__(f"{len(faults)} faults in {file}")
