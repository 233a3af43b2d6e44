"""From a command's arguments to a loaded campaign and its folder.

Called by the commands that take a campaign file. Reads; makes nothing.
"""

from __future__ import annotations

from pathlib import Path

from equipoise_operator import campaign_file
from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local.folder import DEFAULT_PARENT, CampaignFolder
from equipoise_operator.stores.artefacts import ArtefactFolder


def folder(file: Path, out: Path | None) -> CampaignFolder:
    """The folder named by --out, or the one that bears the campaign's name."""
    if out is not None:
        return CampaignFolder(out)
    return CampaignFolder(DEFAULT_PARENT / (campaign_file.campaign_name(file) or "unnamed"))


def load(file: Path, out: Path | None) -> LoadedCampaign:
    """The campaign of a file, with its sources.

    Raises:
        FaultyFileError: with all faults at once.
        UsageError: the file can't be read.
    """
    artefacts = ArtefactFolder(folder(file, out).artefacts)
    return campaign_file.load(file, read_artefact=artefacts.get)
