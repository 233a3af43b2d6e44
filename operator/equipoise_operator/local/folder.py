"""The output folder of a campaign on this machine: its paths, its lock, its atomic writes.

Called by the executor and by every command that reads a finished campaign. Holds no measured number
itself: those are in the ledger.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from equipoise_operator.errors import OperatorError, UsageError

DEFAULT_PARENT = Path("equipoise-out")
"""Where `equipoise run` puts a campaign's folder, by its name, when --out isn't given."""

LOCK_PATIENCE_SECONDS = 3.0
"""A run that was killed takes a moment to let go of the folder."""


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """A campaign's folder."""

    root: Path

    @property
    def ledger(self) -> Path:
        """The ledger's database."""
        return self.root / "ledger.sqlite3"

    @property
    def artefacts(self) -> Path:
        """Sources and sealed records by their digest."""
        return self.root / "artefacts"

    @property
    def secret(self) -> Path:
        """The campaign's secret, readable by its owner alone; removed once it is revealed."""
        return self.root / "secret"

    @property
    def records(self) -> Path:
        """Records that the runner has written and the ledger hasn't taken in yet."""
        return self.root / "records"

    @property
    def cache(self) -> Path:
        """What the runner prepares once and uses in every block (compiled kernels)."""
        return self.root / "cache"

    @property
    def campaign(self) -> Path:
        """A copy of the campaign file."""
        return self.root / "campaign.yaml"

    @property
    def verdicts(self) -> Path:
        """The verdicts, for programs."""
        return self.root / "verdicts.json"

    @property
    def report_html(self) -> Path:
        """The report, for people."""
        return self.root / "report.html"

    @property
    def report_markdown(self) -> Path:
        """The report, for a terminal or a pull request."""
        return self.root / "report.md"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder alone; it is made if it isn't there.

        Raises:
            OperatorError: another process holds it, or it can't be made.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise OperatorError(
                f"The output folder {self.root} can't be used: {error.strerror}. Expected a folder"
                " that can be written; choose another one with --out."
            ) from error
        try:
            self._wait_for_lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait_for_lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise OperatorError(
                        f"Another run is using {self.root}. Two runs can't share a folder: wait for"
                        " it, stop it, or choose another folder with --out."
                    ) from None
                time.sleep(0.1)
            else:
                return


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Writes a file so that a reader, or a crash, sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in a folder last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def existing(given: Path | None) -> CampaignFolder:
    """The campaign's folder that a command was pointed at, or the only one there is.

    Args:
        given: the folder named by the user; None: this folder, or the only one below
            `equipoise-out`.

    Raises:
        UsageError: there is no campaign, or there are several to choose from.
    """
    if given is not None:
        if not (given / "ledger.sqlite3").is_file():
            raise UsageError(
                f"{given} holds no campaign: ledger.sqlite3 was expected in it. Name the folder"
                " that `equipoise run` printed."
            )
        return CampaignFolder(given)
    here = Path()
    if (here / "ledger.sqlite3").is_file():
        return CampaignFolder(here)
    found = sorted(path.parent for path in DEFAULT_PARENT.glob("*/ledger.sqlite3"))
    if len(found) == 1:
        return CampaignFolder(found[0])
    listed = ", ".join(str(path) for path in found) or "none"
    raise UsageError(
        f"Which campaign? Expected one folder with a ledger, here or below {DEFAULT_PARENT}; found"
        f" {listed}. Name the folder."
    )
