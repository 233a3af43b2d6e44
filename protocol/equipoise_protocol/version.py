"""The protocol's version, and the files that its digest covers.

A registration carries both (R03), and so does every record. The digest is computed by
`equipoise_operator.protocol_digest`, since this package reads no files. Comments count: a byte that
changes in a listed file changes the digest, and then the version has to change too.
"""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = "0.1.0"
"""Semantic: a major step says that numbers are no longer comparable, a minor one adds a rule."""

DECISION_MODULES: Final[tuple[str, ...]] = (
    "anchors.py",
    "bca.py",
    "block.py",
    "canonical.py",
    "constants.py",
    "decision.py",
    "equivalence.py",
    "estimation.py",
    "evidence.py",
    "exact.py",
    "finding.py",
    "full_speed.py",
    "headroom.py",
    "heterogeneity.py",
    "judged.py",
    "judgement.py",
    "multiplicity.py",
    "permutation.py",
    "plan.py",
    "portability.py",
    "power.py",
    "provenance.py",
    "quadrature.py",
    "readout.py",
    "registration.py",
    "replanning.py",
    "rule.py",
    "rules.py",
    "sentence.py",
    "spec.py",
    "spending.py",
    "student_t.py",
    "transfer.py",
    "validation/admission.py",
    "validation/arrival.py",
    "validation/check.py",
    "validation/clocks.py",
    "validation/correctness.py",
    "validation/deferral.py",
    "validation/design.py",
    "validation/emptiness.py",
    "validation/fitness.py",
    "validation/floor.py",
    "validation/form.py",
    "validation/held.py",
    "validation/identity.py",
    "validation/linearity.py",
    "validation/observation.py",
    "validation/slate.py",
    "validation/statuses.py",
    "verdict.py",
    "vocabulary.py",
)
"""Paths inside this package whose content can change a plan, a finding, a number or a verdict."""

OTHER_MODULES: Final[tuple[str, ...]] = (
    "__init__.py",  # a docstring
    "errors.py",  # names of our own failures
    "ledger/__init__.py",  # a docstring
    "ledger/bodies.py",  # how entries are kept: the ledger has a version of its own
    "ledger/chain.py",  # the same
    "ledger/entry.py",  # the same
    "lint.py",  # refuses a campaign before it is registered, and judges none afterwards
    "lint_fault.py",  # the same
    "lint_rules.py",  # the same
    "validation/__init__.py",  # a docstring
    "version.py",  # this list: by its name alone every version would differ
)
"""The rest. Every module stands in one of the two lists, so that a new one must take sides."""
