"""A registered campaign with its ledger: everything that is written down of it, and in what order.

Made by whoever registers a campaign or finds one registered: the local executor with the secret
in its folder, the cluster's validator with the secret in the API server. Both drive it with
`schedule.next_action`. It starts nothing, and it holds no clock: each call is a step of its own,
and each may be repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from equipoise_operator.campaign import results
from equipoise_operator.campaign.schedule import Ending, LedgerState
from equipoise_operator.errors import OperatorError
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.ledger import Ledger
from equipoise_operator.validating import intake
from equipoise_operator.validating.intake import Frozen, Taken
from equipoise_protocol import judgement, portability
from equipoise_protocol.block import BlockIdentity, PlannedBlock
from equipoise_protocol.finding import Finding
from equipoise_protocol.ledger.bodies import LostCause, Rejection, plan_of
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.provenance import PodObservation
from equipoise_protocol.registration import Registration
from equipoise_protocol.verdict import Verdict, Verdicts


class OpenCampaign:
    """One campaign in a ledger."""

    def __init__(
        self,
        ledger: Ledger,
        data: ReportData,
        *,
        contents: Mapping[tuple[str, str], str],
        secret: str | None,
    ) -> None:
        """Takes up a campaign where its ledger left it.

        Args:
            ledger: that the campaign is registered in.
            data: what it holds of the campaign.
            contents: text of each source by (comparison, arm or empty for the problem).
            secret: the campaign's; None once it was revealed: the campaign is over.
        """
        self._ledger = ledger
        self._data = data
        self._frozen = None if secret is None else Frozen(data.registration, contents, secret)

    @property
    def data(self) -> ReportData:
        """What the ledger holds of the campaign."""
        return self._data

    @property
    def registration(self) -> Registration:
        """The frozen campaign."""
        return self._data.registration

    @property
    def is_over(self) -> bool:
        """Whether its secret was published: nothing is planned or taken in any more."""
        return self._data.secret is not None

    @property
    def frozen(self) -> Frozen:
        """What it takes to plan.

        Raises:
            OperatorError: the campaign is over.
        """
        if self._frozen is None:
            raise OperatorError(
                f"Campaign {self.registration.campaign} is over: its secret is published, and no"
                " block is planned any more. Register a new campaign, or an amendment."
            )
        return self._frozen

    def state(self) -> LedgerState:
        """What the schedule needs to know."""
        return results.state_of(self._data)

    def open_attempts(self) -> tuple[BlockIdentity, ...]:
        """Attempts that were planned and have not ended."""
        return results.without_ending(self._data)

    def plan(self, key: BlockKey, attempt: int) -> PlannedBlock:
        """Writes down that an attempt will be made (R10), and says what it is asked to do.

        Raises:
            RefusedError: a rule of the ledger refused it.
        """
        planned = self.frozen.plan(key, attempt)
        self._ledger.plan(planned)
        plan = plan_of(planned)
        if plan not in self._data.plans:
            self._data = replace(self._data, plans=(*self._data.plans, plan))
        return planned

    def take_in(self, content: bytes) -> Taken | None:
        """Takes a delivered record in; None for what is no sealed record of this campaign."""
        judged = results.judged_records(self._data)
        taken = intake.take_in(content, self.frozen, self._ledger, judged=judged)
        return None if taken is None else self._noted(taken)

    def take_in_for(
        self, attempt: BlockIdentity, content: bytes, *, observed: PodObservation | None
    ) -> Taken:
        """Takes in what was delivered in an attempt's place; what is no record of it is refused.

        Args:
            attempt: a planned one.
            content: as it was delivered.
            observed: what the API server says of the attempt's pod.
        """
        return self._noted(
            intake.take_in_for(
                content,
                self.frozen,
                self._ledger,
                attempt=attempt,
                observed=observed,
                judged=results.judged_records(self._data),
            )
        )

    def refuse_unread(self, attempt: BlockIdentity, finding: Finding, *, digest: str) -> Taken:
        """Refuses what was delivered in an attempt's place and is too large to be read."""
        return self._noted(
            intake.refuse_unread(
                self.frozen, self._ledger, attempt=attempt, finding=finding, digest=digest
            )
        )

    def _noted(self, taken: Taken) -> Taken:
        if taken.admitted is None:
            self._data = replace(self._data, rejections=self._rejections())
        elif taken.admitted.digest not in {one.digest for one in self._data.records}:
            self._data = replace(self._data, records=(*self._data.records, taken.admitted))
        return taken

    def lose(self, identity: BlockIdentity, reason: str, *, cause: LostCause) -> None:
        """Writes down that a planned attempt left no record, and why."""
        self._ledger.lose(identity, reason, cause=cause)
        self._data = replace(self._data, rejections=self._rejections())

    def take_look(self, look: int) -> tuple[Verdict, ...]:
        """Judges a look, and writes down what the ledger doesn't hold of it yet."""
        data = self._data
        verdicts = judgement.judge(
            data.registration,
            look=look,
            judged=results.judged_records(data),
            earlier=tuple(one for one in data.verdicts if one.look < look),
        )
        known = {(one.comparison, one.node_class) for one in data.verdicts if one.look == look}
        new = tuple(one for one in verdicts if (one.comparison, one.node_class) not in known)
        for verdict in new:
            self._ledger.append_verdict(verdict)
        self._data = replace(data, verdicts=(*data.verdicts, *new))
        return new

    def finish(self) -> None:
        """Portability where every class has its final verdict; then the secret, for `verify`."""
        secret, data = self.frozen.secret, self._data
        known = {one.comparison for one in data.portability}
        final = tuple(one.verdict for one in data.questions() if one.verdict and one.verdict.final)
        for comparison in data.registration.spec.comparisons:
            own = tuple(one for one in final if one.comparison == comparison.name)
            complete = len(own) == len(data.registration.spec.node_classes)
            if comparison.name in known or not complete:
                continue
            found = portability.judge(data.registration, comparison=comparison.name, verdicts=final)
            if found is not None:
                self._ledger.append_portability(found)
                self._data = replace(self._data, portability=(*self._data.portability, found))
        self._ledger.reveal(data.registration_digest, secret)
        self._data = replace(self._data, secret=secret)

    def ending(self, *, abort: bool) -> Ending:
        """How a campaign ended that is over."""
        if self._data.is_complete():
            return Ending.COMPLETE
        return Ending.ABORTED if abort else Ending.OUT_OF_BUDGET

    def read_anew(self) -> ReportData:
        """What the ledger holds, its head among it: a report shows this and nothing else."""
        self._data = gather(self._ledger, registration=self._data.registration_digest)
        return self._data

    def verdicts(self) -> Verdicts:
        """The newest verdict of each question."""
        return results.verdicts_of(self._data)

    def _rejections(self) -> tuple[Rejection, ...]:
        return self._ledger.rejections(self._data.registration_digest)
