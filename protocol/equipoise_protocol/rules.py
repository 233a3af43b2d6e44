"""The protocol's rules R01 to R35: what each one says, how grave a breach is, what to do then.

Read by findings (`rules.RULES["R13"].remedy`), by the report, and by the test that demands a check,
a bad record and a refusal for every rule. `protocol/README.md` shows the same sentences. Prose and
names only, but remedies stand in findings, so the protocol's digest covers it; the runner never
imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from equipoise_protocol.vocabulary import Severity

RAW_VALUES: Final = (
    "It takes arithmetic over raw values, which SQL can't do exactly; the protocol checks it before"
    " ingest and `verify` recomputes it."
)
SERVING: Final = (
    "This version has kernel tasks only: a campaign with a serving task is refused when it is read."
)
A_A_RATE: Final = (
    "It speaks of a rate over many campaigns: the calibration in tests/performance publishes it,"
    " and an A/A campaign is judged as any other."
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the protocol."""

    title: str
    """A few words."""
    summary: str
    """The rule in one line."""
    remedy: str
    """What to do when it is broken."""
    severity: Severity
    """What a breach does at most: a note, a void block, a refusal."""
    checked_by: tuple[str, ...]
    """Modules that enforce it in Python; empty only beside `python_gap`."""
    python_gap: str = ""
    """Why no module checks it in this version."""
    database_gap: str = ""
    """Why a database can't express it; empty: the database refuses it by itself."""


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "R01": Rule(
            title="Registered first",
            summary=(
                "A campaign's registration (canonical JSON of RFC 8785, SHA-256) stands in the"
                " ledger before the first record of that campaign."
            ),
            remedy=(
                "Register the campaign with `equipoise run` and measure again; a record made"
                " before its registration can't be admitted afterwards."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.identity",
                "equipoise_operator.stores.ledger",
            ),
        ),
        "R02": Rule(
            title="A registration never changes",
            summary=(
                "A registered spec is final; an amendment is a new registration that names the old"
                " one and says what had been seen by then."
            ),
            remedy=(
                "Put the old file back, or run the changed file as a new campaign with `amends`"
                " set to the old registration's digest."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_operator.validating.freezing",),
        ),
        "R03": Rule(
            title="One protocol from registration to verdict",
            summary=(
                "A record carries the protocol digest of its registration; a newer validator"
                " judges an open campaign under the version it was registered with, or refuses to"
                " upgrade."
            ),
            remedy=(
                "Measure with the version that the registration names, or register the campaign"
                " anew under this one."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.identity",
                "equipoise_operator.stores.sqlite.schema",
            ),
        ),
        "R04": Rule(
            title="Unregistered readouts are exploratory",
            summary="A readout that was not registered is exploratory and never decides a verdict.",
            remedy="Register the readout as primary or secondary in a new campaign.",
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.spec",),
        ),
        "R05": Rule(
            title="An honest baseline in the same block",
            summary=(
                "Every comparison has an honest baseline that is measured in the same blocks; a"
                " time stored on another day or machine is never a baseline."
            ),
            remedy=(
                "Add an arm with role Baseline and kind Honest: the best that a competent user"
                " would run, such as torch.compile or the vendor's library."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.lint_rules",),
        ),
        "R06": Rule(
            title="Arms differ only where registered",
            summary=(
                "Arms share task digest, shapes, dtype, precision flags and workload, and differ"
                " only in the keys that the registration names."
            ),
            remedy=(
                "Make the arms alike in the key that is named, or register that key as the"
                " treatment."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.arrival",
                "equipoise_protocol.validation.design",
            ),
        ),
        "R07": Rule(
            title="The treatment arrived",
            summary=(
                "The effective configuration, read back from inside the measured process, is the"
                " registered one."
            ),
            remedy=(
                "Compare the configuration in the finding with the registered one; find where it"
                " was overridden (environment, defaults of the library) and run the block again."
            ),
            severity=Severity.VOID,
            checked_by=(
                "equipoise_protocol.validation.arrival",
                "equipoise_protocol.validation.emptiness",
            ),
        ),
        "R08": Rule(
            title="Every arm, one seed, registered order",
            summary=(
                "A block holds every arm in a mirrored order that the registration fixes (A B B A"
                " or B A A B for two arms) under one seed; seeds are HMACs under a secret whose"
                " SHA-256 the registration commits to and which is published at the end; no seed"
                " serves twice."
            ),
            remedy="Run the whole block again; half a block is never patched.",
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.plan",
                "equipoise_protocol.validation.design",
                "equipoise_protocol.validation.identity",
            ),
        ),
        "R09": Rule(
            title="Registered number of blocks and looks",
            summary=(
                "Blocks and looks are registered: one look, or a Lan-DeMets O'Brien-Fleming"
                " spending function with every interval and test at its adjusted level; results are"
                " computed at registered looks only."
            ),
            remedy=(
                "Wait for the next registered look (`equipoise status` says how many blocks are"
                " missing), or register a campaign with more looks."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.plan", "equipoise_protocol.judgement"),
        ),
        "R10": Rule(
            title="Every attempt is on record",
            summary=(
                "Every attempt is recorded, void ones with their reason; re-runs are bounded and"
                " nothing is dropped in silence."
            ),
            remedy=(
                "Look at the void attempts in the report; remove their cause, or register a larger"
                " bound on re-runs."
            ),
            severity=Severity.VOID,
            checked_by=(
                "equipoise_protocol.validation.statuses",
                "equipoise_operator.stores.ledger",
            ),
        ),
        "R11": Rule(
            title="Warmed up, many values, fresh inputs",
            summary=(
                "A kernel run has by default at least 25 warm-ups and 100 timed values for each"
                " shape, a new input for every timed call, and the registered cache state enforced."
            ),
            remedy="Run the block again with the registered warm-ups, values and cache state.",
            severity=Severity.VOID,
            checked_by=("equipoise_protocol.validation.design",),
        ),
        "R12": Rule(
            title="Correct where it was timed",
            summary=(
                "Outputs, those of timed calls and of unseen shapes included, agree with a float64"
                " reference kept outside the candidate's reach on at least 5 shapes or seeds, by an"
                " error scaled to the output; zeros, constants, identity and NaN fail."
            ),
            remedy=(
                "Correct the candidate on the shape that is named; a wrong result can't be fast."
                " Where the reference itself hardly depends on its input, change the task."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.correctness",
                "equipoise_protocol.validation.admission",
            ),
        ),
        "R13": Rule(
            title="Two clocks agree",
            summary=(
                "Two clocks that share no process agree within the registered bound, over batches"
                " whose secret lengths lie on a line."
            ),
            remedy=(
                "Look for work that is put off, handed to a thread or burnt in short batches; if"
                " the candidate is honest, run again on a quieter machine."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.clocks",
                "equipoise_protocol.validation.linearity",
                "equipoise_protocol.validation.deferral",
            ),
        ),
        "R14": Rule(
            title="No time below the floor",
            summary=(
                "No shape's time, before any averaging, is below the physical floor: mandatory"
                " bytes over the peak of the memory level that the cache state allows, and the"
                " declared least operations over the peak rate."
            ),
            remedy=(
                "Check that the candidate does the work on every call; if it does, correct the"
                " task's declared bytes or operations in a new registration."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.validation.floor",),
            database_gap=RAW_VALUES,
        ),
        "R15": Rule(
            title="Too good goes to quarantine",
            summary=(
                "A ratio above the breaker (10x over the fastest honest baseline) is held back and"
                " counts only after cold re-measurement in a fresh process or pod."
            ),
            remedy=(
                "Let the quarantined candidate be measured again cold; read its source meanwhile."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.judgement",),
        ),
        "R16": Rule(
            title="Steady across runs",
            summary=(
                "The cross-run CV of every arm in the primary readout is at most the registered"
                " cap on every node class: 5 % or less, or a looser cap registered with its reason"
                " and shown in the verdict."
            ),
            remedy=(
                "Quieten the machine (fixed clocks, no neighbours, pinned threads), or register"
                " more timed values a run; a looser cap needs a reason in the registration."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.evidence", "equipoise_protocol.judgement"),
        ),
        "R17": Rule(
            title="A fit machine",
            summary=(
                "The machine was fit during the block: no throttling, hardware error, foreign"
                " load, CPU quota or sharing; the signals are blind to the arm, and where voids"
                " gather on one arm the result is unstable, not defective."
            ),
            remedy=(
                "Stop what else runs on the machine, lift its CPU quota, let it cool; the block is"
                " run again by itself within the registered bound."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.fitness",
                "equipoise_protocol.validation.slate",
            ),
        ),
        "R18": Rule(
            title="The machine of its class",
            summary=(
                "The machine is what its node class says and stays so within a block: model,"
                " driver, clocks, power limit, environment, image digest."
            ),
            remedy=(
                "Run on a machine of the class, or register a node class that describes this"
                " machine."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.fitness",
                "equipoise_protocol.validation.design",
                "equipoise_protocol.validation.observation",
            ),
        ),
        "R19": Rule(
            title="Nothing measured is a defect",
            summary=(
                "An empty measurement (no values, zero tokens, an empty table) is a defect and"
                " never a zero."
            ),
            remedy=(
                "Read the arm's outcome in the record, remove its cause and run the block again."
            ),
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.emptiness",
                "equipoise_protocol.validation.statuses",
            ),
        ),
        "R20": Rule(
            title="Delivered load is the registered load",
            summary=(
                "The delivered rate is the registered one within 2 %, the schedule's delay is"
                " within its bound, and the client, calibrated against a null server, is not"
                " saturated."
            ),
            remedy="Give the load generator more cores or connections, or register a lower rate.",
            severity=Severity.VOID,
            checked_by=(),
            python_gap=SERVING,
            database_gap=SERVING,
        ),
        "R21": Rule(
            title="Every request is accounted for",
            summary=(
                "Requests issued are those that succeeded plus those that failed; failed ones stay"
                " in the denominators, and above the registered share the block is void."
            ),
            remedy="Find out why requests failed or vanished before measuring again.",
            severity=Severity.VOID,
            checked_by=(),
            python_gap=SERVING,
            database_gap=SERVING,
        ),
        "R22": Rule(
            title="Tokens are counted, not claimed",
            summary=(
                "Tokens are counted from the token ids that came back and checked against the"
                " text; output lengths agree between arms, and truncated, empty or looping output"
                " fails."
            ),
            remedy="Compare the stop conditions and token limits of the arms; make them equal.",
            severity=Severity.REFUSAL,
            checked_by=(),
            python_gap=SERVING,
            database_gap=SERVING,
        ),
        "R23": Rule(
            title="Cache hits are the declared ones",
            summary=(
                "Prefix-cache hits, taken from the engine's own counters, are what the"
                " registration declares: none by default."
            ),
            remedy="Reset the engine's cache before each run, or declare the hits in the workload.",
            severity=Severity.VOID,
            checked_by=(),
            python_gap=SERVING,
            database_gap=SERVING,
        ),
        "R24": Rule(
            title="Start-up lies outside the window",
            summary=(
                "Engine start-up, compilation and warm-up lie outside the measuring window, and"
                " latency counts from the scheduled send time."
            ),
            remedy="Lengthen the warm-up until the engine has compiled, then measure again.",
            severity=Severity.VOID,
            checked_by=(),
            python_gap=SERVING,
            database_gap=SERVING,
        ),
        "R25": Rule(
            title="Anchors are reproduced first",
            summary=(
                "A node is admitted only after it has reproduced the anchors of its class within"
                " their band, or a mechanism for the difference is on record."
            ),
            remedy=(
                "Correct the set-up until the anchor is reproduced, or put the mechanism of the"
                " difference on record."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.anchors", "equipoise_protocol.evidence"),
            database_gap=RAW_VALUES,
        ),
        "R26": Rule(
            title="Headroom is measured",
            summary=(
                "Headroom is measured against the wall, the larger of the roofline time measured"
                " on that machine and the no-op floor; at the wall a comparison is reported"
                " saturated."
            ),
            remedy="Take a task or shape with headroom; at the wall nothing can win.",
            severity=Severity.NOTE,
            checked_by=("equipoise_protocol.headroom", "equipoise_protocol.judgement"),
            database_gap=RAW_VALUES,
        ),
        "R27": Rule(
            title="One of five verdicts, by the registered rule",
            summary=(
                "The verdict is Improvement, Regression, Equivalence, Inconclusive or Void by the"
                " registered rule alone, with its reasons; an inconclusive one says how many more"
                " blocks would decide it."
            ),
            remedy="Run `equipoise verify`; it recomputes the verdict from the raw values.",
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.decision", "equipoise_protocol.judgement"),
        ),
        "R28": Rule(
            title="Ratios only, equivalence by two tests",
            summary=(
                "Estimates are paired log-ratios with an interval; equivalence is shown by two"
                " one-sided tests and never by a large p-value; several primary questions share one"
                " error rate (Holm)."
            ),
            remedy=(
                "Quote the ratio with its interval and the verdict, never a bare time or p-value."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.equivalence", "equipoise_protocol.judgement"),
        ),
        "R29": Rule(
            title="Portability is a verdict of its own",
            summary=(
                "Whether a verdict transfers between node classes is decided by a heterogeneity"
                " test; times are never pooled across classes."
            ),
            remedy="Report each class's verdict by itself, or measure more blocks on each class.",
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.portability", "equipoise_protocol.transfer"),
        ),
        "R30": Rule(
            title="A against A finds nothing",
            summary=(
                "A comparison of an artefact with itself under the same rules comes out"
                " Equivalence or Inconclusive, and the rate at which it does not is published."
            ),
            remedy=(
                "Treat every other verdict of this machine with doubt until the A/A comparison is"
                " quiet: look for order effects and neighbours."
            ),
            severity=Severity.NOTE,
            checked_by=(),
            python_gap=A_A_RATE,
            database_gap=A_A_RATE,
        ),
        "R31": Rule(
            title="One way in",
            summary=(
                "Records enter through one ingest function; whatever comes otherwise is refused by"
                " the database itself, and a refusal leaves no row."
            ),
            remedy="Use `equipoise run`; rows written by hand are never admitted.",
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_operator.stores.ledger",
                "equipoise_operator.examination",
                "equipoise_protocol.validation.form",
            ),
        ),
        "R32": Rule(
            title="Append only",
            summary="No row is updated, deleted or truncated by any role that the software uses.",
            remedy="Append a new entry that refers to the old one; restore the ledger from a copy.",
            severity=Severity.REFUSAL,
            checked_by=("equipoise_operator.examination",),
        ),
        "R33": Rule(
            title="Chained, with its head outside",
            summary=(
                "Entries are chained and the chain's head is published as a checkpoint outside the"
                " database; a witness refuses a rewound or forked log."
            ),
            remedy="Compare the ledger with its last checkpoint; restore the copy that matches it.",
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.ledger.chain", "equipoise_operator.examination"),
        ),
        "R34": Rule(
            title="Bound to its planned block",
            summary=(
                "A record is bound to its planned block by nonce and attempt (and pod, on a"
                " cluster): replayed, late, duplicated and foreign ones are told apart and refused."
            ),
            remedy="Discard the record and let the block run again under its own nonce.",
            severity=Severity.REFUSAL,
            checked_by=(
                "equipoise_protocol.validation.identity",
                "equipoise_protocol.validation.observation",
            ),
        ),
        "R35": Rule(
            title="Every figure recomputes",
            summary=(
                "Every figure in a report recomputes from the ledger's raw values on any machine:"
                " 12 significant digits from exactly rounded sums, resampling by a specified"
                " counter-based generator, the same under AVX2, AVX-512 and two numpy versions."
            ),
            remedy=(
                "Run `equipoise verify`; it names the first entry whose figures don't recompute."
            ),
            severity=Severity.REFUSAL,
            checked_by=("equipoise_protocol.exact", "equipoise_operator.recomputation"),
            database_gap=RAW_VALUES,
        ),
    }
)
"""Every rule by its number, which is stable: code, findings, database and documents cite it."""
