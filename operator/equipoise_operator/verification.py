"""`equipoise verify`: all that a ledger says, recomputed where nothing was measured (R35).

Called by the command line. Reads the ledger and its artefacts, changes neither, and needs no
network, no device and no key. It finds what SQLite can't refuse: digests that are wrong,
authentications, statistics, a trigger that somebody dropped, rows that came in meanwhile, entries
that were cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from equipoise_operator import protocol_digest
from equipoise_operator.examination import Examination
from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.sqlite.inspection import Inspection
from equipoise_operator.verification_result import Verification
from equipoise_protocol.ledger.entry import Head


def verify(
    path: Path,
    *,
    artefacts: ArtefactFolder | None = None,
    expected_head: Head | None = None,
    secrets: Mapping[str, str] | None = None,
    protocol: tuple[str, str] | None = None,
) -> Verification:
    """Recomputes a ledger from its raw values.

    Args:
        path: the database file.
        artefacts: where sources and sealed records are; by default the folder beside the file.
        expected_head: a head that was published outside the ledger; tells a rewound or forked
            ledger from a grown one (R33).
        secrets: secret by registration digest, for campaigns whose secret isn't published yet.
        protocol: version and digest of the protocol that this program is; by default the installed
            one.

    Raises:
        StoreError: there is no ledger at `path`, or the file is no database.
    """
    with Inspection(path) as inspection:
        examination = Examination(
            inspection,
            artefacts=artefacts or ArtefactFolder(path.parent / "artefacts"),
            secrets=dict(secrets or {}),
            protocol=protocol or _installed(),
        )
        return examination.verification(expected_head)


def _installed() -> tuple[str, str]:
    found = protocol_digest.identity()
    return found.version, found.digest
