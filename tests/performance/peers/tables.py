"""The rounds as Markdown. Called by `timing.py`. Pure; every figure comes from `figures`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from performance.peers import figures
from performance.peers.blocks import CALLS, INSIDE, LATENCY, OUTSIDE, PAUSES, THROUGHPUT, WHOLE
from performance.peers.figures import Interval
from performance.peers.goals import PEERS, Goal, log_ratios
from performance.peers.processes import PYPERF, PYPERF_MEAN, PYPERF_MEDIAN, TORCH
from performance.peers.rounds import COLD, EQUIPOISE, WARM, WholeRound

TOOL_OF = {LATENCY: EQUIPOISE, TORCH: TORCH, PYPERF_MEAN: PYPERF, PYPERF_MEDIAN: PYPERF}

FRESH_INPUTS = (LATENCY, OUTSIDE, THROUGHPUT, INSIDE)
"""Ways of reading whose calls get new inputs each, held against the loop that does so, too."""

FRESH, REUSED = "loop, fresh inputs", "loop, one input"

FEWEST = 2
"""Rounds that an interval takes."""

DIFFERENCES = """\
What differs by design:

- *Inputs.* The runner writes new inputs before each call and copies each output out; the peers call
  with one input over and over. Each is held against the trusted loop of its own discipline, and the
  difference between the two loops has a row of its own.
- *Outside.* The runner reads its clock in another process: two process switches, the output's copy
  and its release come on top. The null arm measures that share, and *outside less null* is what a
  campaign compares; *outside as it is* shows what the null arm takes off.
- *Processes.* In a round the runner has two processes an arm (A B B A), `torch.utils.benchmark`
  one, pyperf as many as `--pyperf-processes` says. Fresh processes cost wall time, not time in
  timed calls, so at equal time in timed calls pyperf's many are to its advantage.
- *Order.* The peers measure the first arm, then the second, so a drift of the machine stays in
  their ratio; in the runner's order a straight one cancels.
- *Summary.* pyperf's `compare_to` holds means against each other. The loops, the runner and
  `torch.utils.benchmark` take medians, so the bias of *pyperf, mean* holds the tail of its calls,
  too."""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A Markdown table; the first column is text, the others are figures."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if place == 0 else "---:" for place in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"
    yield ""


def percent(interval: Interval, *, signed: bool = False) -> str:
    """A figure and its bounds in per cent."""
    sign = "+" if signed else ""
    value, low, high = (
        f"{100 * one:{sign}.2f}" for one in (interval.value, interval.low, interval.high)
    )
    return f"{value} [{low}, {high}]"


def plain(interval: Interval) -> str:
    """A figure and its bounds."""
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def sections(rounds: Sequence[WholeRound], goals: Sequence[Goal]) -> Iterator[str]:
    """Every section, goals first. Intervals take two rounds at least."""
    yield "## Goals"
    yield ""
    yield (
        "A goal is met or not by the figure itself. Brackets: of a ratio its 95 % interval, of a"
        " share the lowest and the highest round."
    )
    yield ""
    yield from table(
        ("goal", "bound", "found", "met"),
        (
            (goal.name, goal.bound, plain(goal.found), "yes" if goal.is_met else "**no**")
            for goal in goals
        ),
    )
    yield "## A/A: half-width at equal time in timed calls"
    yield ""
    yield (
        "The same artefact in both arms. *Difference* is the mean ratio of the arms less 1, in per"
        " cent, with its 95 % interval; *half-width* is that interval's on the log scale, in per"
        " cent. Brackets of half-widths and of their ratios: 95 % intervals under normal noise"
        " (chi-squared, F). Columns of times show how equal the time was."
    )
    yield ""
    for kernel in WARM:
        yield f"### Kernel `{kernel}`, half-width"
        yield ""
        yield from table(
            (
                "tool",
                "timed calls (s a round)",
                "wall (s a round)",
                "difference (%)",
                "half-width (%)",
                "ours over it",
            ),
            (_half_width_row(rounds, kernel, way) for way in TOOL_OF),
        )
    yield "## Bias: a call against the trusted clock"
    yield ""
    yield (
        "Median time of a call by each tool's word over that of a loop without any harness,"
        " measured before and after the tools in each round. Mean over rounds, 95 % interval."
    )
    yield ""
    for kernel in WARM:
        yield f"### Kernel `{kernel}`, bias"
        yield ""
        yield from table(
            ("reading", "a call (ms)", "held against", "loop (ms)", "bias (%)", "rounds"),
            _bias_rows(rounds, kernel),
        )
    yield DIFFERENCES
    yield ""
    yield "## Share of time in timed calls"
    yield ""
    yield (
        "*Phase* is the measuring phase after warm-up: of the runner `contention.wall_nanoseconds`;"
        " of `torch.utils.benchmark` the call of `blocked_autorange`, with its search for a block"
        " size; of pyperf a worker's duration less its warm-ups. *Wall* is everything, with"
        " processes and imports. Brackets: lowest and highest round."
    )
    yield ""
    yield from table(
        ("kernel, tool", "timed calls (s a round)", "of the phase (%)", "of the wall (%)"),
        _share_rows(rounds),
    )
    yield "### Cold, with the eviction apart"
    yield ""
    yield from table(("kernel `long`, cold", "s a round", "share of the phase (%)"), _cold(rounds))
    yield (
        f"The eviction is what the pauses of `{COLD}` take beyond those of `{WARM[-1]}`, whose"
        " shape and number of calls are the same. No peer empties the caches, so none stands here."
    )
    yield ""
    yield "### The whole block"
    yield ""
    yield "Seconds a block, and its share of the whole in per cent; from the record's fields."
    yield ""
    yield from table(("part", *WARM, COLD), _block_rows(rounds))
    yield "## Every round"
    yield ""
    yield "A/A log-ratios in per cent, and the rules that would void our block in a campaign."
    yield ""
    yield from table(("kernel, round", *TOOL_OF, "void by"), _round_rows(rounds))


def _half_width_row(rounds: Sequence[WholeRound], kernel: str, way: str) -> Sequence[object]:
    logs = log_ratios(rounds, kernel, way)
    spent = [one.kernels[kernel].spent[TOOL_OF[way]] for one in rounds]
    over = "-"
    if way in PEERS:
        ours = log_ratios(rounds, kernel, LATENCY)
        over = plain(figures.ratio_of_half_widths(ours, logs))
    return (
        way,
        f"{fmean(one.calls for one in spent):.3f}",
        f"{fmean(one.wall for one in spent):.1f}",
        percent(figures.relative(logs), signed=True),
        percent(figures.half_width(logs)),
        over,
    )


def _bias_rows(rounds: Sequence[WholeRound], kernel: str) -> Iterator[Sequence[object]]:
    found = [one.kernels[kernel] for one in rounds]

    def row(name: str, claimed: list[float], against: str, trusted: list[float]) -> list[str]:
        return [
            name,
            f"{1e3 * fmean(claimed):.4f}",
            against,
            f"{1e3 * fmean(trusted):.4f}",
            percent(figures.bias(claimed, trusted), signed=True),
            str(len(claimed)),
        ]

    for way in (*FRESH_INPUTS, *PEERS):
        having = [one for one in found if way in one.pairs]
        if len(having) < FEWEST:
            yield way, "-", "-", "-", "-", str(len(having))
            continue
        claimed = [one.pairs[way].seconds for one in having]
        if way in FRESH_INPUTS:
            yield row(way, claimed, FRESH, [one.loop.fresh for one in having])
        else:
            yield row(way, claimed, REUSED, [one.loop.reused for one in having])
    loops = [one.loop for one in found]
    yield row(FRESH, [one.fresh for one in loops], REUSED, [one.reused for one in loops])


def _share_rows(rounds: Sequence[WholeRound]) -> Iterator[Sequence[object]]:
    for kernel in WARM:
        for tool in (EQUIPOISE, TORCH, PYPERF):
            spent = [one.kernels[kernel].spent[tool] for one in rounds]
            calls = [one.calls for one in spent]
            yield (
                f"{kernel}, {tool}",
                f"{fmean(calls):.3f}",
                percent(figures.share(calls, [one.phase for one in spent])),
                percent(figures.share(calls, [one.wall for one in spent])),
            )


def _cold(rounds: Sequence[WholeRound]) -> Iterator[Sequence[object]]:
    cold = [one.cold.breakdown for one in rounds]
    warm = [one.kernels[WARM[-1]].block.breakdown for one in rounds]
    phases = [one[CALLS] + one[PAUSES] for one in cold]
    evictions = [one[PAUSES] - other[PAUSES] for one, other in zip(cold, warm, strict=True)]
    calls = [one[CALLS] for one in cold]
    for name, seconds in (
        ("measuring phase", phases),
        ("timed calls", calls),
        ("eviction", evictions),
        ("other pauses", [one[PAUSES] for one in warm]),
    ):
        yield name, f"{fmean(seconds):.3f}", percent(figures.share(seconds, phases))
    rest = [phase - eviction for phase, eviction in zip(phases, evictions, strict=True)]
    yield (
        "timed calls, of the phase without the eviction",
        f"{fmean(rest):.3f}",
        percent(figures.share(calls, rest)),
    )


def _block_rows(rounds: Sequence[WholeRound]) -> Iterator[Sequence[object]]:
    blocks = [[one.kernels[kernel].block.breakdown for one in rounds] for kernel in WARM]
    blocks.append([one.cold.breakdown for one in rounds])
    means = [figures.means(one) for one in blocks]
    for part in means[0]:
        yield (
            part,
            *(f"{one[part]:.2f} ({100 * one[part] / one[WHOLE]:.0f})" for one in means),
        )


def _round_rows(rounds: Sequence[WholeRound]) -> Iterator[Sequence[object]]:
    for kernel in WARM:
        for number, one in enumerate(rounds, start=1):
            found = one.kernels[kernel]
            yield (
                f"{kernel}, {number}",
                *(f"{100 * found.pairs[way].log_ratio:+.3f}" for way in TOOL_OF),
                ", ".join(found.block.void) or "-",
            )
