"""What `equipoise plan` does: a pilot, and what it says about time and blocks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from equipoise_operator.campaign.progress import duration
from equipoise_operator.campaign.schedule import Question
from equipoise_operator.commands import terminal
from equipoise_operator.commands.terminal import Output
from equipoise_operator.commands.work import campaigns
from equipoise_operator.commands.work.display import finding_line
from equipoise_operator.exit_codes import ExitCode
from equipoise_operator.local import interrupts, pilot, prediction, runner_process
from equipoise_operator.local.pilot import PilotResult
from equipoise_operator.local.prediction import Prediction, QuestionPrediction
from equipoise_protocol.permutation import smallest_reachable_p
from equipoise_protocol.spec import CampaignSpec


def plan(
    file: Path, *, pilot_blocks: int, out: Path | None, output: Output, progress: bool
) -> ExitCode:
    """Measures a pilot and prints what follows; without pilot blocks, what is planned."""
    loaded = campaigns.load(file, out)
    spec = loaded.parsed.campaign.spec
    if pilot_blocks == 0:
        _show_design(spec, output)
        return ExitCode.DONE
    runner_process.require_kernel_extra()
    start = time.time() - psutil.Process().create_time()
    try:
        with interrupts.raising(), _watching(progress=progress) as on_question:
            results = pilot.run(loaded, blocks=pilot_blocks, on_question=on_question)
    except KeyboardInterrupt:
        terminal.err().print("Interrupted. A pilot leaves nothing behind.")
        return ExitCode.INTERRUPTED
    predicted = prediction.predict(spec, tuple(one.pilot for one in results), start_seconds=start)
    _show(spec, predicted, results, output)
    return ExitCode.DONE


@contextmanager
def _watching(*, progress: bool) -> Iterator[Callable[[Question, float], None]]:
    """Says which question the pilot is at; a silent minute would look like a hang."""
    console = terminal.err()
    if not progress:
        yield lambda _question, _seconds: None
    elif terminal.is_interactive():
        with console.status("pilot") as status:
            yield lambda question, seconds: status.update(
                f"pilot: {question.comparison} on {question.node_class}, {seconds:.0f} s"
            )
    else:
        said: set[Question] = set()

        def say(question: Question, _seconds: float) -> None:
            if question not in said:
                said.add(question)
                console.print(f"pilot: {question.comparison} on {question.node_class}")

        yield say


def _show_design(spec: CampaignSpec, output: Output) -> None:
    blocks, count = _planned_blocks(spec), _question_count(spec)
    reachable = smallest_reachable_p(spec.design.blocks)
    if output is Output.JSON:
        terminal.print_json(
            {
                "version": 1,
                "questions": count,
                "blocksPerQuestion": blocks,
                "blocks": count * blocks,
                "smallestReachableP": reachable,
                "prediction": None,
            }
        )
        return
    terminal.out().print(_design_line(spec))
    terminal.out().print(
        f"The smallest p that {spec.design.blocks} estimation blocks can reach is {reachable:.3g}."
        " Without a pilot nothing is known of times and spread."
    )


def _show(
    spec: CampaignSpec,
    predicted: Prediction,
    results: tuple[PilotResult, ...],
    output: Output,
) -> None:
    cautions = prediction.warnings(spec, predicted)
    if output is Output.JSON:
        terminal.print_json(_as_json(spec, predicted, results, cautions))
        return
    console = terminal.out()
    console.print(_design_line(spec))
    table = terminal.table(
        "comparison", "node class", "a block", "attempts", "spread", "for effect", "for equivalence"
    )
    for one in predicted.questions:
        table.add_row(
            one.comparison,
            one.node_class,
            f"{one.block_seconds:.1f} s",
            f"{one.expected_blocks:.1f}",
            _spread(one),
            _needed(one, one.blocks_for_minimum_effect),
            _needed(one, one.blocks_for_equivalence),
        )
    console.print(table)
    effect = spec.decision.minimum_effect_basis_points / 100
    margin = spec.decision.equivalence_margin_basis_points / 100
    console.print(
        f"for effect: estimation blocks that tell a gain of {effect:g} % from none; for"
        f" equivalence: that show two equal arms to be equal within {margin:g} %; both with 90 %"
        " power."
    )
    for line in _breakdown(predicted):
        console.print(line)
    for result in results:
        kinds = Counter((one.rule, one.kind, one.arm) for one in result.findings)
        first = {(one.rule, one.kind, one.arm): one for one in reversed(result.findings)}
        for kind, count in kinds.items():
            times = f" ({count} times)" if count > 1 else ""
            console.print(
                f"pilot finding, {result.pilot.comparison}{times}: {finding_line(first[kind])}"
            )
    for caution in cautions:
        console.print(f"warning: {caution}", style="yellow")
    console.print(f"predicted: {predicted.seconds:.0f} s ({duration(predicted.seconds)})")


def _breakdown(predicted: Prediction) -> tuple[str, ...]:
    waiting = sum(one.expected_blocks * one.waiting_seconds for one in predicted.questions)
    blocks = sum(one.seconds - one.preparation_seconds for one in predicted.questions) - waiting
    preparation = sum(one.preparation_seconds for one in predicted.questions)
    parts = (
        ("blocks, with repeats and drills", blocks),
        ("waiting for a CPU at full speed", waiting),
        ("starting runners, compiling", preparation),
        ("starting this program", predicted.start_seconds),
        ("judging and reporting", predicted.report_seconds),
    )
    return tuple(f"  {name:<33}{seconds:7.1f} s" for name, seconds in parts)


def _design_line(spec: CampaignSpec) -> str:
    design = spec.design
    return (
        f"{_question_count(spec)} question(s), each with {design.selection_blocks} selection and"
        f" {design.blocks} estimation blocks and {design.looks} look(s)."
    )


def _spread(one: QuestionPrediction) -> str:
    if one.deviation is None:
        return "-"
    return f"{one.deviation.estimate:.2%} (to {one.deviation.upper:.2%})"


def _needed(one: QuestionPrediction, blocks: int | None) -> str:
    if one.deviation is None:
        return "-"
    return "out of reach" if blocks is None else str(blocks)


def _question_count(spec: CampaignSpec) -> int:
    return len(spec.comparisons) * len(spec.node_classes)


def _planned_blocks(spec: CampaignSpec) -> int:
    return spec.design.selection_blocks + spec.design.blocks


def _as_json(
    spec: CampaignSpec,
    predicted: Prediction,
    results: tuple[PilotResult, ...],
    cautions: tuple[str, ...],
) -> dict[str, object]:
    return {
        "version": 1,
        "questions": _question_count(spec),
        "blocksPerQuestion": _planned_blocks(spec),
        "blocks": _question_count(spec) * _planned_blocks(spec),
        "smallestReachableP": smallest_reachable_p(spec.design.blocks),
        "prediction": {
            "seconds": predicted.seconds,
            "startSeconds": predicted.start_seconds,
            "reportSeconds": predicted.report_seconds,
            "questions": [_question_json(one) for one in predicted.questions],
        },
        "findings": [
            finding.model_dump(mode="json", by_alias=True)
            for result in results
            for finding in result.findings
        ],
        "warnings": list(cautions),
    }


def _question_json(one: QuestionPrediction) -> dict[str, object]:
    deviation = one.deviation
    return {
        "comparison": one.comparison,
        "nodeClass": one.node_class,
        "blockSeconds": one.block_seconds,
        "waitingSeconds": one.waiting_seconds,
        "preparationSeconds": one.preparation_seconds,
        "expectedBlocks": one.expected_blocks,
        "seconds": one.seconds,
        "standardDeviation": deviation.estimate if deviation else None,
        "standardDeviationUpper": deviation.upper if deviation else None,
        "blocksForMinimumEffect": one.blocks_for_minimum_effect,
        "blocksForEquivalence": one.blocks_for_equivalence,
    }
