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
    "block.py",
    "canonical.py",
    "constants.py",
    "provenance.py",
    "vocabulary.py",
)
"""Paths inside this package whose content can change a plan, a finding, a number or a verdict."""

OTHER_MODULES: Final[tuple[str, ...]] = (
    "__init__.py",  # a docstring
    "errors.py",  # names of our own failures
    "rules.py",  # prose: titles and remedies, read by people
    "version.py",  # this list; naming itself would make every version differ by its name alone
)
"""The rest. Every module stands in one of the two lists, so that a new one must take sides."""
