"""The campaigns that tests of the report tell: one for each way in which a comparison can end.

Read by the tests of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from builders import HONEST, NAIVE, TREATMENT, a_comparison, a_treatment
from equipoise_operator.report import html
from equipoise_operator.report.data import ReportData
from report_builders import Story, a_cached_output, a_failure, a_report, a_story

HOSTILE = "</style></p><script>alert(1)</script><img src=x onerror=alert(2)> & {{ 7 * 7 }} ]]> \" '"
"""What somebody would write who wants a report to run something."""

AVX512, AVX2 = "cpu-avx512", "cpu-avx2"

CHEATS = (
    "cached-output",
    "patched-clock",
    "deferred-work",
    "mutated-input",
    "constant-output",
    "read-answer",
    "short-batches",
    "left-behind",
)

STORIES: Mapping[str, Story] = MappingProxyType(
    {
        "improvement": a_story(),
        "regression": a_story(times={(TREATMENT, "cpu"): 421_000}, void_blocks=(5, 9)),
        "equivalence": a_story(times={(TREATMENT, "cpu"): 400_000}),
        "saturated": a_story(
            times={
                (TREATMENT, "cpu"): 62_000,
                (HONEST, "cpu"): 61_500,
                (NAIVE, "cpu"): 70_000,
            },
            noise=0.003,
        ),
        "inconclusive": a_story(noise=0.035, times={(TREATMENT, "cpu"): 397_000}, blocks=8),
        "unstable": a_story(noise=0.12),
        "refused": a_story(refused={TREATMENT: a_cached_output(TREATMENT)}),
        "failed": a_story(failing=(TREATMENT,), refused={TREATMENT: a_failure(TREATMENT)}),
        "unjudged": a_story(
            looks=2,
            blocks=16,
            looks_taken=0,
            is_revealed=False,
            rejections=("a replay: its nonce is that of block 3 attempt 1",),
        ),
        "all-void": a_story(blocks=6, void_blocks=tuple(range(1, 9)), attempts=0, looks_taken=0),
        "half-way": a_story(
            looks=2, blocks=16, looks_taken=1, noise=0.03, times={(TREATMENT, "cpu"): 393_000}
        ),
        "classes": a_story(
            classes=(AVX512, AVX2),
            times={(TREATMENT, AVX512): 421_000, (TREATMENT, AVX2): 310_000},
            void_blocks=(4,),
        ),
        "cheats": a_story(
            comparisons=tuple(a_comparison(name=name) for name in CHEATS),
            blocks=6,
            refused={TREATMENT: a_cached_output(TREATMENT)},
        ),
    }
)


@cache
def story(name: str) -> ReportData:
    """What the ledger holds after the story of that name."""
    return a_report(STORIES[name])


def a_hostile_report() -> ReportData:
    """Hostile text wherever somebody but us can write."""
    refused = a_cached_output(TREATMENT).model_copy(
        update={"message": HOSTILE, "remedy": HOSTILE, "subject": HOSTILE[:150]}
    )
    honest = a_comparison().arms[1].model_copy(update={"why": HOSTILE})
    comparison = a_comparison(
        arms=(a_comparison().arms[0], honest, a_treatment()),
    )
    data = a_report(
        a_story(
            comparisons=(comparison,), refused={TREATMENT: refused}, rejections=(HOSTILE,), blocks=6
        )
    )
    spec = data.registration.spec.model_copy(update={"question": HOSTILE})
    # A campaign's name is a DNS label; a page must not rest on that.
    registration = data.registration.model_copy(update={"campaign": HOSTILE, "spec": spec})
    first = data.records[0]
    machine = first.record.provenance.machine.model_copy(update={"cpu_model": HOSTILE})
    provenance = first.record.provenance.model_copy(update={"machine": machine, "node": HOSTILE})
    record = first.record.model_copy(update={"provenance": provenance})
    verdict = data.verdicts[0].model_copy(update={"sentence": HOSTILE, "treatment": HOSTILE})
    return replace(
        data,
        registration=registration,
        records=(first.model_copy(update={"record": record}), *data.records[1:]),
        verdicts=(verdict,),
    )


@cache
def rendered(name: str) -> str:
    """The HTML report of the story of that name, or of a hostile one."""
    return html.render(a_hostile_report() if name == "hostile" else story(name))
