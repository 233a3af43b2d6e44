"""A campaign on this machine, from its file to its verdicts; what was begun is gone on with.

Called by `equipoise run`. It does what `schedule.next_action` says, one thing at a time, and writes
each result down before the next: an interrupt or a crash loses at most the block under way.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import assert_never

from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local import results, runner_process, schedule
from equipoise_operator.local.folder import CampaignFolder, write_atomically
from equipoise_operator.local.intake import Frozen, Taken, record_name, take_in
from equipoise_operator.local.observer import Measured, Observer
from equipoise_operator.local.opening import OpenCampaign, forget_secret, open_campaign
from equipoise_operator.local.progress import Progress, progress
from equipoise_operator.local.runner_process import NoRecordError, RunnerCall, Runners
from equipoise_operator.local.schedule import (
    Action,
    Ending,
    Finish,
    LedgerState,
    MeasureBlock,
    Outcome,
    Question,
    TakeLook,
)
from equipoise_operator.report.data import ReportData, gather
from equipoise_operator.stores.ledger_sqlite import SqliteLedger
from equipoise_protocol import judgement, portability
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.ledger.bodies import Rejection, plan_of
from equipoise_protocol.verdict import Verdicts

MOST_LOST_IN_A_ROW = 3
"""Attempts that the runner may fail at, one after the other, before the program gives up."""

INTERRUPTED = "Interrupted: the program ended while this attempt was under way, and no record came."


@dataclass(frozen=True, slots=True)
class Finished:
    """How a call of `run` ended."""

    data: ReportData
    verdicts: Verdicts
    ending: Ending | None
    """None: suspended; the campaign goes on when the file says so."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Where times come from, so that tests can bring their own."""

    monotonic: Callable[[], float] = time.monotonic
    utc_now: Callable[[], str] = lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run(
    loaded: LoadedCampaign, folder: CampaignFolder, *, observer: Observer, clocks: Clocks = Clocks()
) -> Finished:
    """Measures a campaign to its end, or on from where it was.

    Raises:
        KeyboardInterrupt: the block under way is lost, everything before it is in the ledger.
        UsageError: the folder holds another campaign, or the machine is of another class.
        OperatorError: the folder is in use, the runner fails again and again, the secret is lost.
    """
    with folder.locked():
        runner_process.wait_for_orphans(folder.cache)
        with SqliteLedger(folder.ledger) as ledger, Runners(folder.cache) as runners:
            opened = open_campaign(loaded, folder, ledger, utc_now=clocks.utc_now)
            session = _Session(folder, ledger, opened, observer=observer, clocks=clocks)
            return session.run(loaded, runners)


class _Session:
    """One call of `run`: the open ledger and what is known so far."""

    def __init__(
        self,
        folder: CampaignFolder,
        ledger: SqliteLedger,
        opened: OpenCampaign,
        *,
        observer: Observer,
        clocks: Clocks,
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._opened = opened
        self._data = opened.data
        self._observer = observer
        self._clocks = clocks
        self._started = clocks.monotonic()
        self._spent_before = sum(
            one.record.whole_nanoseconds / results.NANOSECONDS for one in opened.data.records
        )
        self._block_seconds = _block_seconds(opened.data)
        self._lost_in_a_row = 0

    def run(self, loaded: LoadedCampaign, runners: Runners) -> Finished:
        """Goes on until the campaign is over, suspended or interrupted."""
        if self._opened.secret is None:
            self._observer.began(self._data.registration, self._progress())
            return self._ended(_ending_of(self._data, abort=loaded.parsed.campaign.spec.abort))
        frozen = Frozen(self._data.registration, self._opened.contents, self._opened.secret)
        spec = loaded.parsed.campaign.spec
        self._folder.records.mkdir(exist_ok=True)
        self._observer.began(self._data.registration, self._progress())
        self._recover(frozen)
        while True:
            action = self._next_action(abort=spec.abort)
            match action:
                case TakeLook():
                    self._take_look(action)
                case MeasureBlock() if spec.suspend:
                    self._observer.said(
                        "The campaign is suspended: no new block starts. Set spec.suspend to false"
                        " and run again."
                    )
                    return self._written(None)
                case MeasureBlock():
                    self._measure(action, frozen, runners)
                case Finish():
                    self._finish(frozen)
                    return self._ended(action.ending)
                case _:
                    assert_never(action)

    def _next_action(self, *, abort: bool) -> Action:
        spent = self._spent_before + self._clocks.monotonic() - self._started
        return schedule.next_action(
            self._data.registration,
            self._state(),
            seconds_left=self._data.registration.spec.budget.wall_clock_seconds - spent,
            abort=abort,
        )

    def _state(self) -> LedgerState:
        return results.state_of(self._data)

    def _progress(self) -> Progress:
        return progress(self._data.registration, self._state(), block_seconds=self._block_seconds)

    def _recover(self, frozen: Frozen) -> None:
        """Takes in what a killed run left on disk, and closes the attempts that left nothing."""
        for path in sorted(self._folder.records.glob("*.json")):
            taken = take_in(path, frozen, self._ledger, judged=results.judged_records(self._data))
            if taken is None:
                self._observer.said(
                    f"{path} is no sealed record and was set aside; its block is measured again."
                )
                continue
            self._note(taken)
            self._observer.measured(_measured(taken, taken.seconds), self._progress())
        for identity in results.without_ending(self._data):
            self._lose(frozen.planned(identity), INTERRUPTED)

    def _measure(self, action: MeasureBlock, frozen: Frozen, runners: Runners) -> None:
        planned = frozen.plan(action.key, action.attempt)
        self._ledger.plan(planned)
        self._data = replace(self._data, plans=(*self._data.plans, plan_of(planned)))
        self._observer.measuring(planned, self._progress())
        output = self._folder.records / record_name(planned.identity)
        begun = self._clocks.monotonic()
        try:
            call = RunnerCall(planned, frozen.record_key(planned.identity), output)
            runners.measure(call, on_tick=self._observer.ticked)
        except NoRecordError as error:
            self._lost(planned, error, seconds=self._clocks.monotonic() - begun)
            return
        taken = take_in(output, frozen, self._ledger, judged=results.judged_records(self._data))
        seconds = self._clocks.monotonic() - begun
        if taken is None:
            self._lost(
                planned, NoRecordError("The runner wrote no sealed record."), seconds=seconds
            )
            return
        self._lost_in_a_row = 0
        self._note(taken)
        self._block_seconds[_question(planned)].append(taken.seconds)
        self._observer.measured(_measured(taken, seconds), self._progress())

    def _note(self, taken: Taken) -> None:
        """Keeps what was taken in, so that the ledger needn't be read again for every step."""
        if taken.admitted is None:
            self._data = replace(self._data, rejections=self._rejections())
        elif taken.admitted.digest not in {one.digest for one in self._data.records}:
            self._data = replace(self._data, records=(*self._data.records, taken.admitted))

    def _lost(self, planned: PlannedBlock, error: NoRecordError, *, seconds: float) -> None:
        self._lose(planned, str(error))
        lost = Measured(planned, Outcome.LOST, (), seconds, note=str(error))
        self._observer.measured(lost, self._progress())
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MOST_LOST_IN_A_ROW:
            raise error

    def _lose(self, planned: PlannedBlock, reason: str) -> None:
        self._ledger.lose(planned.identity, reason)
        self._data = replace(self._data, rejections=self._rejections())

    def _rejections(self) -> tuple[Rejection, ...]:
        return self._ledger.rejections(self._data.registration_digest)

    def _take_look(self, action: TakeLook) -> None:
        """Judges a look and writes down what the ledger doesn't hold of it yet."""
        data = self._data
        verdicts = judgement.judge(
            data.registration,
            look=action.look,
            judged=results.judged_records(data),
            earlier=tuple(one for one in data.verdicts if one.look < action.look),
        )
        known = {
            (one.comparison, one.node_class) for one in data.verdicts if one.look == action.look
        }
        new = tuple(one for one in verdicts if (one.comparison, one.node_class) not in known)
        for verdict in new:
            self._ledger.append_verdict(verdict)
        self._data = replace(data, verdicts=(*data.verdicts, *new))
        self._observer.looked(new)
        self._write_verdicts()

    def _finish(self, frozen: Frozen) -> None:
        """Portability where every class has its final verdict; then the secret, for `verify`."""
        data = self._data
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
        self._ledger.reveal(data.registration_digest, frozen.secret)
        self._data = replace(self._data, secret=frozen.secret)

    def _ended(self, ending: Ending) -> Finished:
        forget_secret(self._folder)
        return self._written(ending)

    def _written(self, ending: Ending | None) -> Finished:
        # Read anew: a report shows what the ledger holds, its head among it, and nothing else.
        self._data = gather(self._ledger, registration=self._data.registration_digest)
        return Finished(self._data, self._write_verdicts(), ending)

    def _write_verdicts(self) -> Verdicts:
        verdicts = results.verdicts_of(self._data)
        text = verdicts.model_dump_json(by_alias=True, indent=2) + "\n"
        write_atomically(self._folder.verdicts, text.encode())
        return verdicts


def _block_seconds(data: ReportData) -> dict[Question, list[float]]:
    """Block times of earlier calls: the runner's own, which leave out its start."""
    seconds: defaultdict[Question, list[float]] = defaultdict(list)
    for one in data.records:
        identity = one.record.identity
        question = Question(identity.comparison, identity.node_class)
        seconds[question].append(one.record.whole_nanoseconds / results.NANOSECONDS)
    return seconds


def _ending_of(data: ReportData, *, abort: bool) -> Ending:
    """How a campaign ended whose secret is out."""
    if data.is_complete():
        return Ending.COMPLETE
    return Ending.ABORTED if abort else Ending.OUT_OF_BUDGET


def _question(planned: PlannedBlock) -> Question:
    return Question(planned.identity.comparison, planned.identity.node_class)


def _measured(taken: Taken, seconds: float) -> Measured:
    return Measured(taken.planned, taken.outcome, taken.findings, seconds, note=taken.note)
