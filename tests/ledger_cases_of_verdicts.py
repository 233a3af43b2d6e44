"""What may not be concluded, and how nothing may end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from builders import HONEST, TREATMENT
from corpus_cases import Json, honest
from equipoise_protocol.ledger.bodies import Ending
from equipoise_protocol.ledger.entry import EntryKind
from ledger_builders import (
    Step,
    a_refusal,
    plan_step,
    registration_step,
    rejection_step,
    reveal_step,
    two_class_campaign,
    whole_campaign,
)
from ledger_case import OTHER_DIGEST, LedgerCase, edited, planned_of, record_of, replaced


def of_verdicts() -> Iterator[LedgerCase]:
    *measured, (kind, verdict), _ = whole_campaign()
    before = tuple(measured)

    def case(name: str, rule: str, *edits: tuple[str, str, Json]) -> LedgerCase:
        return LedgerCase(name, rule, before, (kind, edited(verdict, *edits)))

    yield case(
        "A verdict on an unregistered comparison is refused",
        "R01",
        ("replace", "/comparison", "another"),
        ("replace", "/verdict", "Void"),
        ("replace", "/reasons", ["TooFewBlocks"]),
        ("replace", "/records", []),
        ("replace", "/blocks/valid", 0),
    )
    yield case(
        "A verdict under another protocol is refused",
        "R03",
        ("replace", "/protocolDigest", OTHER_DIGEST),
    )
    yield case(
        "A verdict on an unregistered readout is refused",
        "R04",
        ("replace", "/readout", "throughput"),
    )
    yield case(
        "A verdict on a naive baseline as if it were honest is refused",
        "R05",
        ("replace", "/naiveBaseline", HONEST),
    )
    yield case(
        "A verdict without an honest baseline is refused",
        "R05",
        ("replace", "/honestBaseline", None),
    )
    yield case("A verdict at an unregistered look is refused", "R09", ("replace", "/looks", 2))
    yield case("A verdict at look zero is refused", "R09", ("replace", "/look", 0))
    yield LedgerCase(
        "A second verdict at a look is refused",
        "R09",
        (*before, (kind, verdict)),
        (kind, edited(verdict, ("replace", "/sentence", "Another sentence."))),
    )
    yield case(
        "A verdict that decides and isn't final is refused", "R09", ("replace", "/final", False)
    )
    yield case(
        "A verdict on fewer blocks than registered is refused",
        "R09",
        ("replace", "/honestRatio/blocks", 5),
    )
    early = tuple(measured[:9])
    yield LedgerCase(
        "A verdict before enough blocks are measured is refused",
        "R09",
        early,
        (
            kind,
            edited(
                verdict,
                ("replace", "/records", _records(early)),
                ("replace", "/blocks/valid", 4),
            ),
        ),
    )
    yield case(
        "A verdict that leaves a record out is refused", "R10", ("remove", "/records/0", None)
    )
    yield case(
        "A verdict that counts a block too many is refused",
        "R10",
        ("replace", "/blocks/valid", 9),
    )
    yield case(
        "A verdict that hides a void block is refused", "R10", ("replace", "/blocks/void", 1)
    )
    yield case(
        "A ratio above the breaker that isn't held back is refused",
        "R15",
        ("replace", "/honestRatio/low", 11.0),
        ("replace", "/honestRatio/high", 13.0),
        ("replace", "/honestRatio/estimate", 12.0),
    )
    yield case(
        "A verdict on an unsteady arm is refused",
        "R16",
        ("replace", f"/crossRunCv/{TREATMENT}", 0.0501),
    )
    yield case(
        "A verdict that leaves the treatment's spread out is refused",
        "R16",
        ("remove", f"/crossRunCv/{TREATMENT}", None),
    )
    yield case(
        "A verdict of a sixth kind is refused",
        "R27",
        ("replace", "/verdict", "Promising"),
    )
    yield case(
        "An improvement with a reason that forbids it is refused",
        "R27",
        ("replace", "/reasons", ["Unstable"]),
    )
    yield case(
        "An inconclusive verdict without a reason is refused",
        "R27",
        ("replace", "/verdict", "Inconclusive"),
    )
    yield LedgerCase(
        "An improvement of a treatment that gave a wrong output is refused",
        "R27",
        tuple(_with_a_refusal(before)),
        (kind, verdict),
    )
    for path, value in (
        ("/honestRatio/low", 0.99),
        ("/honestRatio/high", 1.2),
        ("/honestRatio/levelBasisPoints", 9_000),
        ("/honestRatio/estimate", "1.25"),
        ("/verdict", "Regression"),
        ("/verdict", "Equivalence"),
    ):
        yield case(
            f"An interval that doesn't carry its verdict ({path} {value}) is refused",
            "R28",
            ("replace", path, value),
        )


def _with_a_refusal(before: tuple[Step, ...]) -> Iterator[Step]:
    """The same steps, the first record with a finding that refuses the treatment."""
    first = next(index for index, (kind, _) in enumerate(before) if kind is EntryKind.RECORD)
    refusal: Json = [a_refusal(TREATMENT).model_dump(mode="json", by_alias=True)]
    for index, (kind, body) in enumerate(before):
        yield kind, edited(body, ("replace", "/findings", refusal)) if index == first else body


def _records(steps: Iterable[Step]) -> list[Json]:
    """Digests of the records among steps, in their order."""
    return [edited(body)["digest"] for kind, body in steps if kind is EntryKind.RECORD]


def of_endings() -> Iterator[LedgerCase]:
    start = (registration_step(),)
    plan = plan_step(planned_of())
    lost = rejection_step(planned_of())
    yield LedgerCase("A loss of what was never planned is refused", "R10", start, lost)
    yield LedgerCase(
        "A loss of what is on record is refused", "R10", (*start, plan, record_of()), lost
    )
    yield LedgerCase(
        "A refusal of nothing is refused",
        "R10",
        (*start, plan),
        replaced(rejection_step(planned_of(), ending=Ending.REFUSED), "/objectDigest", None),
    )
    *before, (kind, whole) = two_class_campaign()
    for name, rule, path, value in (
        ("A portability verdict of another campaign is refused", "R01", "/campaign", "another"),
        ("A portability verdict with another ratio is refused", "R29", "/classes/0/ratio/low", 1.0),
        ("A portability verdict without a class is refused", "R29", "/classes/1/nodeClass", "cpu"),
        ("A portability verdict of a fourth kind is refused", "R29", "/verdict", "Perhaps"),
    ):
        yield LedgerCase(name, rule, tuple(before), replaced((kind, whole), path, value))
    yield LedgerCase(
        "A second portability verdict is refused",
        "R29",
        (*before, (kind, whole)),
        replaced((kind, whole), "/sentence", "Another sentence."),
    )
    reveal = reveal_step(honest().registration)
    yield LedgerCase("A secret of no registration is refused", "R01", (), reveal)
    yield LedgerCase(
        "A second secret is refused", "R08", (*start, reveal), replaced(reveal, "/secret", "0" * 64)
    )
    yield LedgerCase(
        "A secret that is no key is refused", "R08", start, replaced(reveal, "/secret", "secret")
    )
