"""What may not be registered, and what may not be planned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from builders import (
    HONEST,
    NAIVE,
    SECRET,
    TREATMENT,
    a_comparison,
    a_planned_block,
    a_registration,
    a_spec,
)
from corpus_cases import Json, honest
from equipoise_protocol.ledger.bodies import Ending
from equipoise_protocol.ledger.entry import EntryKind
from equipoise_protocol.spec import Retries
from equipoise_protocol.vocabulary import VerdictKind
from ledger_builders import (
    Step,
    a_void_finding,
    judgements,
    plan_step,
    record_step,
    registration_step,
    rejection_step,
    reveal_step,
    sealed_answer,
)
from ledger_case import (
    OTHER_DIGEST,
    OTHER_KEY,
    LedgerCase,
    edited,
    planned_of,
    record_of,
    replaced,
)


def of_registrations() -> Iterator[LedgerCase]:
    def case(name: str, rule: str, *edits: tuple[str, str, Json]) -> LedgerCase:
        kind, body = registration_step()
        return LedgerCase(name, rule, (), (kind, edited(body, *edits)))

    yield case(
        "A registration under an unknown protocol is refused",
        "R03",
        ("replace", "/protocolDigest", OTHER_DIGEST),
    )
    yield case(
        "A registration under a wrong protocol version is refused",
        "R03",
        ("replace", "/protocolVersion", "9.9.9"),
    )
    other_secret = a_registration(secret="7a" * 32)
    yield LedgerCase(
        "A second registration of a campaign that amends nothing is refused",
        "R02",
        (registration_step(),),
        (EntryKind.REGISTRATION, other_secret),
    )
    yield LedgerCase(
        "An amendment of a registration that isn't there is refused",
        "R02",
        (registration_step(),),
        (
            EntryKind.REGISTRATION,
            edited(
                other_secret,
                ("replace", "/spec/amends", OTHER_DIGEST),
                ("replace", "/spec/seenBefore", "Two blocks."),
            ),
        ),
    )
    yield case(
        "A registration without a primary readout is refused",
        "R04",
        ("replace", "/spec/comparisons/0/readouts/0/rank", "Secondary"),
    )
    yield case(
        "A registration whose primary readout is the candidate's own clock is refused",
        "R04",
        ("replace", "/spec/comparisons/0/readouts/0/name", "inProcessLatency"),
    )
    yield case(
        "A registration without an honest baseline is refused",
        "R05",
        ("replace", f"/spec/comparisons/0/arms/name={HONEST}/baselineKind", "Naive"),
    )
    yield case(
        "A registration of two treatments is refused",
        "R05",
        ("replace", f"/spec/comparisons/0/arms/name={NAIVE}/role", "Treatment"),
    )
    yield case(
        "A registration whose problem has no digest is refused",
        "R06",
        ("remove", "/sources/0", None),
    )
    yield case(
        "A registration whose treatment has no digest is refused",
        "R06",
        ("remove", f"/sources/arm={TREATMENT}", None),
    )
    yield LedgerCase(
        "A registration that commits to another one's secret is refused",
        "R08",
        (registration_step(),),
        (EntryKind.REGISTRATION, a_registration(campaign="another", secret=SECRET)),
    )
    twice = a_spec(comparisons=(a_comparison(), a_comparison(name="other")))
    yield LedgerCase(
        "A registration of two comparisons of one name is refused",
        "R08",
        (),
        (
            EntryKind.REGISTRATION,
            edited(
                a_registration(twice),
                ("replace", "/spec/comparisons/1/name", "gelu"),
                ("remove", "/sources/comparison=other", None),
            ),
        ),
    )
    yield case(
        "A registration with more looks than its blocks carry is refused",
        "R09",
        ("replace", "/spec/design/looks", 4),
    )
    yield case(
        "A registration with a loose cap and no reason is refused",
        "R16",
        ("replace", "/spec/decision/maxCrossRunCvBasisPoints", 800),
    )
    yield case(
        "A registration whose class gets another environment is refused",
        "R18",
        ("replace", "/classes/0/environment/threads", 2),
    )
    yield case(
        "A registration without one of its classes is refused",
        "R18",
        ("replace", "/classes/0/name", "gpu"),
    )


def of_plans() -> Iterator[LedgerCase]:
    start = (registration_step(),)
    plan = plan_step(planned_of())
    again = plan_step(planned_of(attempt=2))

    def case(name: str, rule: str, path: str, value: Json) -> LedgerCase:
        return LedgerCase(name, rule, start, replaced(plan, path, value))

    yield LedgerCase("A plan before its registration is refused", "R01", (), plan)
    yield case(
        "A plan under another protocol is refused", "R03", "/identity/protocolDigest", OTHER_DIGEST
    )
    yield case("A plan on an unregistered class is refused", "R34", "/identity/nodeClass", "gpu")
    yield case("A plan for another campaign is refused", "R34", "/identity/campaign", "another")
    yield case("A plan beyond the registered blocks is refused", "R09", "/identity/block", 9)
    yield case("A plan of block zero is refused", "R09", "/identity/block", 0)
    yield case("A plan in the wrong phase is refused", "R09", "/identity/phase", "Selection")
    yield case("A plan with an attempt before the first is refused", "R10", "/identity/attempt", 0)
    yield case(
        "A plan whose order isn't mirrored is refused",
        "R08",
        "/order",
        [NAIVE, HONEST, TREATMENT, NAIVE, HONEST, TREATMENT],
    )
    yield case(
        "A plan whose order leaves an arm out is refused",
        "R08",
        "/order",
        [NAIVE, HONEST, NAIVE, NAIVE, HONEST, NAIVE],
    )
    yield case(
        "A plan with more threads than its class is refused", "R18", "/environment/threads", 2
    )
    yield case("A plan with an unregistered drill is refused", "R17", "/drill", "CpuNeighbour")
    yield LedgerCase(
        "A second attempt while the first has not ended is refused", "R10", (*start, plan), again
    )
    yield LedgerCase(
        "A second attempt that was never begun by a first is refused", "R10", start, again
    )
    refused = rejection_step(planned_of(), ending=Ending.REFUSED)
    yield LedgerCase(
        "A second attempt at a block that is measured is refused",
        "R10",
        (*start, plan, refused, record_of()),
        again,
    )
    foreign = (EntryKind.REJECTION, edited(refused[1], ("replace", "/claimed/nonce", OTHER_KEY)))
    yield LedgerCase(
        "A second attempt after a stranger's record was refused is refused",
        "R10",
        (*start, plan, foreign),
        again,
    )
    once = a_registration(a_spec(retries=Retries(attempts_per_block=1)))
    planned = a_planned_block(once)
    yield LedgerCase(
        "An attempt beyond the registered ones is refused",
        "R10",
        (
            (EntryKind.REGISTRATION, once),
            plan_step(planned),
            record_step(sealed_answer(planned, once), (a_void_finding(),)),
        ),
        plan_step(a_planned_block(once, attempt=2)),
    )
    yield LedgerCase(
        "Another plan of the same attempt is refused",
        "R34",
        (*start, plan),
        (
            EntryKind.PLAN,
            edited(
                plan[1],
                ("replace", "/identity/nonce", OTHER_KEY),
                ("replace", "/seedDigest", OTHER_DIGEST),
            ),
        ),
    )
    for path, value in (
        ("/identity/nonce", planned_of().identity.nonce),
        ("/seedDigest", edited(plan[1])["seedDigest"]),
    ):
        yield LedgerCase(
            f"A plan with another attempt's {path} is refused",
            "R08",
            (*start, plan),
            replaced(plan_step(planned_of(4)), path, value),
        )
    yield LedgerCase(
        "A plan after the final verdict is refused",
        "R09",
        (*ended_with_a_void_block(), rejection_step(planned_of(3, attempt=2))),
        plan_step(planned_of(3, attempt=3)),
    )
    yield LedgerCase(
        "A plan after the secret is out is refused",
        "R08",
        (*start, reveal_step(honest().registration)),
        plan,
    )


@cache
def ended_with_a_void_block() -> tuple[Step, ...]:
    """A campaign whose block 3 came out void, was planned again, and ended without that attempt."""
    one = honest()
    registration = one.registration
    measured: list[Step] = []
    for planned, sealed in zip(one.plans, one.sealed, strict=True):
        void = (a_void_finding(),) if planned.identity.block == 3 else ()
        measured += [plan_step(planned), record_step(sealed, void)]
    (verdict,) = judgements(registration, measured)
    assert verdict.verdict is VerdictKind.VOID
    return (
        registration_step(),
        *measured,
        plan_step(planned_of(3, attempt=2)),
        (EntryKind.VERDICT, verdict),
    )
