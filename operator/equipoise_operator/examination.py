"""One verification under way: a ledger's rows, its replay, and its campaigns computed again.

Called by `verification` alone. It gathers every fault instead of stopping at the first, and never
changes what it looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic import ValidationError

from equipoise_operator import protocol_digest
from equipoise_operator.recomputation import Campaign, Complaint
from equipoise_operator.stores.artefacts import ArtefactFolder
from equipoise_operator.stores.errors import StoreError
from equipoise_operator.stores.sqlite.inspection import Inspection, Replay, Row, rule_of
from equipoise_operator.verification_result import Fault, Verification
from equipoise_protocol.block import SealedRecord
from equipoise_protocol.canonical import canonical_bytes, digest
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.ledger import chain
from equipoise_protocol.ledger.bodies import (
    AdmittedRecord,
    BlockPlan,
    Ending,
    Rejection,
    SecretReveal,
    admitted,
)
from equipoise_protocol.ledger.entry import Entry, EntryKind, Head
from equipoise_protocol.registration import Registration, commitment
from equipoise_protocol.validation import check, form
from equipoise_protocol.verdict import Portability, Verdict
from equipoise_protocol.vocabulary import Model

FORMS: Final[dict[EntryKind, type[Model]]] = {
    EntryKind.REGISTRATION: Registration,
    EntryKind.PLAN: BlockPlan,
    EntryKind.RECORD: AdmittedRecord,
    EntryKind.REJECTION: Rejection,
    EntryKind.VERDICT: Verdict,
    EntryKind.PORTABILITY: Portability,
    EntryKind.SECRET_REVEAL: SecretReveal,
}
"""The model of each kind's body."""

UNFIT: Final = (ProtocolError, ArithmeticError, LookupError, RuntimeError, ValueError)
"""What the protocol's functions raise for a forged body that fits its form and no plan."""


UNREAD: Final = frozenset({"NotARecord", *form.UNKEPT})
"""Kinds of findings about what is no record."""


class Examination:
    """Looks at one ledger, once."""

    def __init__(
        self,
        inspection: Inspection,
        *,
        artefacts: ArtefactFolder,
        secrets: dict[str, str],
        protocol: tuple[str, str],
    ) -> None:
        self._inspection = inspection
        self._artefacts = artefacts
        self._secrets = secrets
        self._protocol = protocol
        self._faults: list[Fault] = []
        self._unchecked: list[str] = []
        self._campaigns: dict[str, Campaign] = {}

    def verification(self, expected: Head | None) -> Verification:
        """Everything, in the order in which one thing rests on another."""
        for damage in self._inspection.damages():
            self._of_ledger("R33", f"SQLite finds the file damaged: {damage}")
        for difference in self._inspection.schema_differences():
            self._of_ledger("R32", difference)
        rows = self._rows()
        entries = [row.entry for row in rows if row.entry is not None]
        for row in rows:
            if row.entry is None:
                self._faults.append(Fault(row.seq, "Unknown", "R31", f"the row {row.fault}"))
        self._chain(entries, expected)
        bodies = {entry.seq: body for entry in entries if (body := self._body(entry)) is not None}
        for body in bodies.values():
            if isinstance(body, SecretReveal):
                self._secrets.setdefault(body.registration_digest, body.secret)
        self._replay(rows, bodies)
        for entry in entries:
            if entry.seq in bodies:
                self._complain(entry, self._recomputed(entry, bodies[entry.seq]))
        counts = {kind: sum(entry.kind is kind for entry in entries) for kind in EntryKind}
        return Verification(
            head=entries[-1].head if entries else chain.EMPTY,
            faults=tuple(sorted(dict.fromkeys(self._faults), key=lambda fault: fault.seq or 0)),
            unchecked=tuple(dict.fromkeys(self._unchecked)),
            counts=counts,
        )

    def _rows(self) -> list[Row]:
        try:
            return list(self._inspection.rows())
        except StoreError as error:
            self._of_ledger("R33", f"entries can't be read: {error}")
            return []

    def _chain(self, entries: list[Entry], expected: Head | None) -> None:
        broken = chain.verify(entries, expected=expected)
        if broken is not None:
            kinds = {entry.seq: entry.kind.value for entry in entries}
            kind = kinds.get(broken.seq, "Missing")
            self._faults.append(Fault(broken.seq, kind, "R33", broken.message))

    def _body(self, entry: Entry) -> Model | None:
        """The body as its model, where it is canonical and of its kind's form."""
        try:
            body = FORMS[entry.kind].model_validate_json(entry.body)
            canonical = canonical_bytes(body)
        except (ValueError, RecursionError, ProtocolError) as error:
            self._complain(entry, [("R31", f"the body is no {entry.kind.value}: {error}")])
            return None
        if canonical != entry.body.encode():
            what = "the body isn't canonical JSON of its kind, so it can be read in two ways"
            self._complain(entry, [("R31", what)])
        return body

    def _replay(self, rows: list[Row], bodies: Mapping[int, Model]) -> None:
        """Puts every entry into an empty ledger, where today's rules hold."""
        protocols = self._protocols()
        with Replay(protocols) as replay:
            for row in rows:
                if row.entry is None:
                    self._unchecked.append(
                        f"The rules from entry {row.seq} on, which is unreadable."
                    )
                    return
                self._refused_rightly(row.entry, bodies.get(row.seq), replay)
                try:
                    found = replay.put(row, row.entry)
                except StoreError as error:
                    self._complain(row.entry, [("R31", f"no ledger can hold it: {error}")])
                    self._unchecked.append(
                        f"The rules after entry {row.seq}, which can't be replayed."
                    )
                    return
                self._complain(row.entry, [(rule_of(one, otherwise="R31"), one) for one in found])

    def _protocols(self) -> dict[str, str]:
        """Those that the ledger lists and this program knows; the others are faults."""
        known = {self._protocol[1]: self._protocol[0]}
        known |= {found: version for version, found in protocol_digest.recorded_digests().items()}
        try:
            listed = self._inspection.protocols()
        except StoreError as error:
            self._of_ledger("R03", f"the list of protocols can't be read: {error}")
            return known
        for found, version in listed.items():
            if known.get(found) != version:
                self._of_ledger(
                    "R03",
                    f"protocol {version} with digest {found} is listed and this program doesn't"
                    " know it; expected a released one, or verify with the equipoise that wrote"
                    " the ledger",
                )
        return known

    def _refused_rightly(self, entry: Entry, body: Model | None, replay: Replay) -> None:
        """Whether what was refused would be refused again (R10)."""
        if not isinstance(body, Rejection) or body.ending is Ending.LOST:
            return
        if is_unread(body):
            return  # there is no record that a rule could be asked about
        sealed = self._sealed(entry, str(body.object_digest))
        if sealed is None:
            return
        if check.rejects(body.findings):
            return  # its findings are recomputed later
        if not replay.refusal_of(EntryKind.RECORD, admitted(sealed, body.findings, body.observed)):
            self._complain(
                entry,
                [("R10", "the object was refused, and no rule of the database speaks against it")],
            )

    def _sealed(self, entry: Entry, of_object: str) -> SealedRecord | None:
        try:
            return SealedRecord.model_validate_json(self._artefacts.get(of_object))
        except (StoreError, ValidationError) as error:
            self._complain(entry, [("R35", str(error))])
            return None

    def _recomputed(self, entry: Entry, body: Model) -> Iterator[Complaint]:
        """What doesn't recompute about an entry."""
        if isinstance(body, Registration):
            yield from self._registration(entry, body)
            return
        campaign = self._campaigns.get(_registration_of(body))
        if campaign is None:
            return  # the replay says so
        refused = None
        if isinstance(body, Rejection) and is_unread(body):
            yield from self._unread(entry, body)
        elif isinstance(body, Rejection) and body.object_digest is not None:
            refused = self._sealed(entry, body.object_digest)
        try:
            yield from campaign.complaints(body, refused=refused)
        except UNFIT as error:
            yield "R31", f"the protocol can make nothing of it: {error!r}"
        if isinstance(body, AdmittedRecord):
            sealed = SealedRecord(record=body.record, authentication=body.authentication)
            self._sealed(entry, digest(sealed))

    def _unread(self, entry: Entry, body: Rejection) -> Iterator[Complaint]:
        """Whether what was refused as no record is none (R10, R31)."""
        if any(finding.kind in form.UNKEPT for finding in body.findings):
            self._unchecked.append(
                f"The object that entry {entry.seq} refused: it was too large to be kept."
            )
            return
        try:
            content = self._artefacts.get(str(body.object_digest))
        except StoreError as error:
            yield "R35", str(error)
            return
        if form.sealed_record(content) is not None:
            yield "R10", "the object was refused as no record, and it is one"
        elif body.findings != (form.not_a_record(content, body.claimed),):
            yield "R35", "the refused object is not what the finding says of it"

    def _registration(self, entry: Entry, body: Registration) -> Iterator[Complaint]:
        contents: dict[tuple[str, str], str] = {}
        for source in body.sources:
            try:
                text = self._artefacts.get(source.digest).decode()
            except (StoreError, UnicodeDecodeError) as error:
                yield "R35", f"the source of {source.comparison}/{source.arm or 'problem'}: {error}"
            else:
                contents[source.comparison, source.arm] = text
        missing = len(body.sources) - len(contents)
        secret = self._secret_of(entry, body)
        is_ours = body.protocol_digest == self._protocol[1]
        self._campaigns[entry.digest] = Campaign(
            body, None if missing else contents, secret, is_recomputable=is_ours
        )
        for gap in (
            "its secret isn't known" if secret is None else "",
            "a source is missing" if missing else "",
            ""
            if is_ours
            else f"it is registered under protocol {body.protocol_version} with digest"
            f" {body.protocol_digest}, and this program is {self._protocol[0]}; verify with that"
            " version",
        ):
            if gap:
                self._unchecked.append(
                    f"Seeds, orders, seals and findings of campaign {body.campaign} (entry"
                    f" {entry.seq}): {gap}."
                )

    def _secret_of(self, entry: Entry, body: Registration) -> str | None:
        """The campaign's secret; one that nobody committed to would only accuse honest entries."""
        secret = self._secrets.get(entry.digest)
        fits = secret is not None and commitment(secret) == body.secret_commitment
        return secret if fits else None

    def _complain(self, entry: Entry, complaints: Iterable[Complaint]) -> None:
        self._faults.extend(
            Fault(entry.seq, entry.kind.value, rule, message) for rule, message in complaints
        )

    def _of_ledger(self, rule: str, message: str) -> None:
        self._faults.append(Fault(None, "Ledger", rule, message))


def is_unread(rejection: Rejection) -> bool:
    """Whether it refuses what is no record at all. Pure."""
    return any(finding.kind in UNREAD for finding in rejection.findings)


def _registration_of(body: Model) -> str:
    match body:
        case BlockPlan():
            return body.identity.registration_digest
        case AdmittedRecord():
            return body.record.identity.registration_digest
        case Rejection():
            return body.claimed.registration_digest
        case Verdict() | Portability() | SecretReveal():
            return body.registration_digest
        case _:
            return ""
