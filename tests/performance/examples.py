"""Runs each example many times and counts its verdicts, in a quiet room and beside a neighbour.

    python tests/performance/examples.py --runs 20
    python tests/performance/examples.py --runs 20 --neighbour
    python tests/performance/examples.py --table-only

Every run is a campaign of its own through the command line, in a folder that is thrown away.
Outcomes are appended to `examples.jsonl` at once, so that an interrupted count goes on where it
stopped; the table is written to `examples.md`, with what the host's other guests did. An
inconclusive run is run again with as many blocks as its verdict names.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from equipoise_runner import environment
from equipoise_runner.clock import MonotonicClock
from equipoise_runner.collector.speed import LEARNING_NANOSECONDS, SpeedGate

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
OUTCOMES = HERE / "examples.jsonl"
TABLE = HERE / "examples.md"

STATED = {
    "strawman": "Improvement",
    "saturated": "Equivalence (Saturated)",
    "portability": "DoesNotTransfer",
    "cheat": "none admitted",
    "aa": "Equivalence",
    "defect": "Improvement",
}
WRONG = {
    "strawman": {"Regression", "Equivalence"},
    "saturated": {"Improvement", "Regression"},
    "portability": {"Transfers"},
    "cheat": {"admitted"},
    "aa": {"Improvement", "Regression"},
    "defect": {"Regression", "Equivalence"},
}
"""What would be a false statement; an open or void answer is none."""

HEADER = (
    "| example | room | runs | stated verdict | stated | wrong | other answers | void blocks a run"
    " | seconds a run (median) | open, then decided | slow probes before a run (median, most) |"
)

LEAST_STATED = {False: 16, True: 10}
"""Of 20, by whether a neighbour burns one core."""


@dataclass(frozen=True)
class Outcome:
    """One run of an example."""

    example: str
    neighbour: bool
    answer: str
    detail: str
    void_blocks: int
    seconds: float
    blocks_needed: int | None
    follow_up: str | None
    """Answer of the run with as many blocks as were named, where the first was inconclusive."""
    slow_share: float
    """Share of speed probes that were slow in the second before: what others on the host did."""
    machine: str


@contextmanager
def burner(*, wanted: bool) -> Iterator[None]:
    """A process that burns one core, wherever the scheduler puts it."""
    process = multiprocessing.get_context("spawn").Process(target=_burn, daemon=True)
    if wanted:
        process.start()
    try:
        yield
    finally:
        if wanted:
            process.kill()
            process.join()


def _burn() -> None:
    value = 1
    while True:
        value = value * 1_103_515_245 % 2_147_483_647


def run_once(file: Path) -> dict[str, Any]:
    """The verdicts of one campaign run from scratch."""
    with tempfile.TemporaryDirectory(prefix="equipoise-example-") as folder:
        done = subprocess.run(
            [_program(), "run", str(file), "--out", folder, "--no-progress"],
            check=False,
            capture_output=True,
            text=True,
        )
        verdicts = Path(folder) / "verdicts.json"
        if not verdicts.exists():
            raise SystemExit(
                f"{file} gave no verdicts (exit code {done.returncode}):\n{done.stderr}"
            )
        loaded: dict[str, Any] = json.loads(verdicts.read_text())
        return loaded


def _program() -> str:
    return str(Path(sys.executable).with_name("equipoise"))


def answer_of(example: str, verdicts: dict[str, Any]) -> tuple[str, str]:
    """The campaign's answer in the words of `STATED`, with a figure or the names behind it."""
    every = verdicts["verdicts"]
    if example == "portability":
        found = verdicts["portability"][0]
        ratios = ", ".join(
            f"{one['nodeClass']} {one['ratio']['estimate']:.3f}"
            if one["ratio"]
            else one["nodeClass"]
            for one in found["classes"]
        )
        return found["verdict"], ratios
    if example == "cheat":
        admitted = [one["comparison"] for one in every if one["verdict"] != "Void"]
        unnamed = [
            one["comparison"]
            for one in every
            if not any(finding["arm"] == one["treatment"] for finding in one["findings"])
        ]
        if admitted:
            return "admitted", ", ".join(admitted)
        return (
            ("not named", ", ".join(unnamed))
            if unnamed
            else ("none admitted", f"{len(every)} named")
        )
    verdict = every[0]
    ratio = verdict["honestRatio"]
    shown = f"{ratio['estimate']:.4f} [{ratio['low']:.4f}, {ratio['high']:.4f}]" if ratio else ""
    saturated = (
        " (Saturated)" if example == "saturated" and "Saturated" in verdict["reasons"] else ""
    )
    reasons = "" if verdict["verdict"] != "Void" else f" ({', '.join(verdict['reasons'])})"
    return verdict["verdict"] + saturated + reasons, shown


def needed_of(example: str, verdicts: dict[str, Any]) -> int | None:
    """The blocks that an inconclusive answer names."""
    answer = verdicts["portability"][0] if example == "portability" else verdicts["verdicts"][0]
    if answer["verdict"] != "Inconclusive":
        return None
    needed: int | None = answer["blocksNeeded"]
    return needed


def with_blocks(file: Path, blocks: int, folder: Path) -> Path:
    """The example with another number of blocks and a budget to match."""
    documents = list(yaml.safe_load_all(file.read_text()))
    for document in documents:
        if document["kind"] == "Campaign":
            document["spec"]["design"]["blocks"] = blocks
            document["spec"]["budget"]["wallClockSeconds"] = 86_400
    changed = folder / file.name
    changed.write_text(yaml.safe_dump_all(documents))
    return changed


def measure(example: str, *, neighbour: bool) -> Outcome:
    """One run, and its follow-up where the answer is open."""
    file = EXAMPLES / f"{example}.yaml"
    slow_share = SpeedGate(MonotonicClock()).look(LEARNING_NANOSECONDS)
    with burner(wanted=neighbour), tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        verdicts = run_once(file)
        seconds = time.monotonic() - start
        answer, detail = answer_of(example, verdicts)
        needed = needed_of(example, verdicts)
        follow_up = None
        if needed is not None:
            larger = with_blocks(file, needed, Path(folder))
            follow_up, _ = answer_of(example, run_once(larger))
    return Outcome(
        example=example,
        neighbour=neighbour,
        answer=answer,
        detail=detail,
        void_blocks=sum(one["blocks"]["void"] for one in verdicts["verdicts"]),
        seconds=round(seconds, 1),
        blocks_needed=needed,
        follow_up=follow_up,
        slow_share=round(slow_share, 3),
        machine=cpu_model(),
    )


def cpu_model() -> str:
    """The machine as a record names it."""
    return environment.read_machine(environment.choose_measuring_cpus(1)).cpu_model


def outcomes() -> list[Outcome]:
    """Everything counted so far."""
    if not OUTCOMES.exists():
        return []
    return [Outcome(**json.loads(line)) for line in OUTCOMES.read_text().splitlines()]


def table(found: list[Outcome]) -> str:
    """The counts as Markdown."""
    lines = [
        "# Verdicts of repeated runs of the examples",
        "",
        "Made by `python tests/performance/examples.py --runs 20`, with and without `--neighbour`",
        "(a process that burns one core). Every line counts whole campaigns, run from scratch.",
        "",
    ]
    for machine in sorted({one.machine for one in found}):
        lines += [f"## {machine}", "", *_rows([one for one in found if one.machine == machine]), ""]
    return "\n".join(lines)


def _rows(found: list[Outcome]) -> list[str]:
    lines = [HEADER, "|---|---|---|---|---|---|---|---|---|---|---|"]
    for example, stated in STATED.items():
        for neighbour in (False, True):
            own = [one for one in found if one.example == example and one.neighbour is neighbour]
            if not own:
                continue
            answers = Counter(one.answer for one in own)
            others = ", ".join(
                f"{answer} {count}" for answer, count in sorted(answers.items()) if answer != stated
            )
            wrong = sum(count for answer, count in answers.items() if is_wrong(example, answer))
            followed = [one for one in own if one.follow_up is not None]
            decided = sum("Inconclusive" not in str(one.follow_up) for one in followed)
            seconds = sorted(one.seconds for one in own)[len(own) // 2]
            slow = sorted(one.slow_share for one in own)
            void = sum(one.void_blocks for one in own) / len(own)
            lines.append(
                f"| {example} | {'neighbour' if neighbour else 'quiet'} | {len(own)} | {stated}"
                f" | {answers[stated]} | {wrong} | {others or '-'} | {void:.1f} | {seconds:.0f}"
                f" | {f'{len(followed)}, {decided}' if followed else '-'}"
                f" | {slow[len(slow) // 2]:.0%}, {slow[-1]:.0%} |"
            )
    return lines


def is_wrong(example: str, answer: str) -> bool:
    """Whether an answer states something false."""
    return answer.split(" (", maxsplit=1)[0] in WRONG[example]


def main() -> None:
    """Counts, and writes the table after each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--neighbour", action="store_true")
    parser.add_argument("--only", choices=sorted(STATED), action="append")
    parser.add_argument("--table-only", action="store_true")
    asked = parser.parse_args()
    os.environ.setdefault("NO_COLOR", "1")
    machine = cpu_model()
    for number in range(0 if asked.table_only else asked.runs):
        for example in asked.only or STATED:
            done = [
                one
                for one in outcomes()
                if (one.example, one.neighbour, one.machine) == (example, asked.neighbour, machine)
            ]
            if len(done) > number:
                continue
            outcome = measure(example, neighbour=asked.neighbour)
            with OUTCOMES.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            TABLE.write_text(table(outcomes()))
            print(f"{number + 1}. {example}: {outcome.answer} {outcome.detail}", flush=True)
    TABLE.write_text(table(outcomes()))
    print(table(outcomes()))


if __name__ == "__main__":
    main()
