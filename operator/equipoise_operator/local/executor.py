"""A campaign on this machine, from its file to its verdicts; what was begun is gone on with.

Called by `equipoise run`. It does what `schedule.next_action` says, one thing at a time, and writes
each result down before the next: an interrupt or a crash loses at most the block under way.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from equipoise_operator.campaign import results, schedule
from equipoise_operator.campaign.progress import Progress, progress
from equipoise_operator.campaign.schedule import (
    Action,
    Ending,
    Finish,
    MeasureBlock,
    Outcome,
    Question,
    TakeLook,
    Wait,
)
from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local import runner_process
from equipoise_operator.local.folder import CampaignFolder, write_atomically
from equipoise_operator.local.observer import Measured, Observer
from equipoise_operator.local.opening import forget_secret, open_campaign
from equipoise_operator.local.runner_process import NoRecordError, RunnerCall, Runners
from equipoise_operator.report.data import ReportData
from equipoise_operator.stores.sqlite.opening import open_ledger
from equipoise_operator.validating.intake import Taken, record_name
from equipoise_operator.validating.open_campaign import OpenCampaign
from equipoise_protocol.block import PlannedBlock
from equipoise_protocol.ledger.bodies import LostCause
from equipoise_protocol.spec import CampaignSpec
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
        with open_ledger(folder.ledger) as ledger, Runners(folder.cache) as runners:
            opened = open_campaign(loaded, folder, ledger, utc_now=clocks.utc_now)
            session = _Session(folder, opened, observer=observer, clocks=clocks)
            return session.run(loaded.parsed.campaign.spec, runners)


class _Session:
    """One call of `run`: the open campaign and what this machine knows of it."""

    def __init__(
        self, folder: CampaignFolder, opened: OpenCampaign, *, observer: Observer, clocks: Clocks
    ) -> None:
        self._folder = folder
        self._opened = opened
        self._spec = opened.registration.spec
        self._observer = observer
        self._clocks = clocks
        self._started = clocks.monotonic()
        self._spent_before = sum(
            one.record.whole_nanoseconds / results.NANOSECONDS for one in opened.data.records
        )
        self._block_seconds = _block_seconds(opened.data)
        self._lost_in_a_row = 0

    def run(self, asked: CampaignSpec, runners: Runners) -> Finished:
        """Goes on until the campaign is over, suspended or interrupted.

        `asked`: the file's spec as it is now, which alone says `suspend` and `abort`.
        """
        self._observer.began(self._opened.registration, self._progress())
        if self._opened.is_over:
            return self._ended(self._opened.ending(abort=asked.abort))
        self._folder.records.mkdir(exist_ok=True)
        self._take_in_what_was_left()
        while True:
            action = self._next_action(abort=asked.abort)
            match action:
                case TakeLook(look):
                    self._observer.looked(self._opened.take_look(look))
                    self._write_verdicts()
                case MeasureBlock() if asked.suspend:
                    self._observer.said(
                        "The campaign is suspended: no new block starts. Set spec.suspend to false"
                        " and run again."
                    )
                    return self._written(None)
                case MeasureBlock(key, attempt):
                    self._measure(self._opened.plan(key, attempt), runners)
                case Wait():
                    self._close_open_attempts()
                case Finish(ending):
                    self._opened.finish()
                    return self._ended(ending)
                case _:
                    assert_never(action)

    def _next_action(self, *, abort: bool) -> Action:
        spent = self._spent_before + self._clocks.monotonic() - self._started
        return schedule.next_action(
            self._spec,
            self._opened.state(),
            seconds_left=self._spec.budget.wall_clock_seconds - spent,
            abort=abort,
        )

    def _progress(self) -> Progress:
        return progress(self._spec, self._opened.state(), block_seconds=self._block_seconds)

    def _take_in_what_was_left(self) -> None:
        """Takes in what a killed run left on disk, and closes the attempts that left nothing."""
        for path in sorted(self._folder.records.glob("*.json")):
            taken = self._take_in(path)
            if taken is None:
                self._observer.said(
                    f"{path} is no sealed record and was set aside; its block is measured again."
                )
                continue
            self._observer.measured(_measured(taken, taken.seconds), self._progress())
        self._close_open_attempts()

    def _close_open_attempts(self) -> None:
        """This program is the only one that measures: what is open now, nobody works at."""
        for identity in self._opened.open_attempts():
            self._opened.lose(identity, INTERRUPTED, cause=LostCause.INTERRUPTED)

    def _measure(self, planned: PlannedBlock, runners: Runners) -> None:
        self._observer.measuring(planned, self._progress())
        output = self._folder.records / record_name(planned.identity)
        begun = self._clocks.monotonic()
        try:
            key = self._opened.frozen.record_key(planned.identity)
            runners.measure(RunnerCall(planned, key, output), on_tick=self._observer.ticked)
        except NoRecordError as error:
            self._lost(planned, error, seconds=self._clocks.monotonic() - begun)
            return
        taken = self._take_in(output)
        seconds = self._clocks.monotonic() - begun
        if taken is None:
            self._lost(
                planned, NoRecordError("The runner wrote no sealed record."), seconds=seconds
            )
            return
        self._lost_in_a_row = 0
        self._block_seconds[_question(planned)].append(taken.seconds)
        self._observer.measured(_measured(taken, seconds), self._progress())

    def _take_in(self, path: Path) -> Taken | None:
        """Takes a file in and removes it, or sets it aside where it is no record of ours."""
        taken = self._opened.take_in(path.read_bytes())
        if taken is None:
            path.rename(path.with_suffix(".unreadable"))
        else:
            path.unlink()
        return taken

    def _lost(self, planned: PlannedBlock, error: NoRecordError, *, seconds: float) -> None:
        self._opened.lose(planned.identity, str(error), cause=LostCause.RUNNER_FAILED)
        lost = Measured(planned, Outcome.LOST, (), seconds, note=str(error))
        self._observer.measured(lost, self._progress())
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MOST_LOST_IN_A_ROW:
            raise error

    def _ended(self, ending: Ending) -> Finished:
        forget_secret(self._folder)
        return self._written(ending)

    def _written(self, ending: Ending | None) -> Finished:
        return Finished(self._opened.read_anew(), self._write_verdicts(), ending)

    def _write_verdicts(self) -> Verdicts:
        verdicts = self._opened.verdicts()
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


def _question(planned: PlannedBlock) -> Question:
    return Question(planned.identity.comparison, planned.identity.node_class)


def _measured(taken: Taken, seconds: float) -> Measured:
    return Measured(taken.planned, taken.outcome, taken.findings, seconds, note=taken.note)
