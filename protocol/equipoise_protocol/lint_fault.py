"""A fault in a campaign file: where, what was found, what was expected, what to do.

Made by `lint` and `lint_rules`, printed by the command line. Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

SHOWN_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    document: int
    """Index of the YAML document in its file, from 0."""
    path: str
    """Path of the field in the document, e.g. `spec.comparisons[0].arms[1].role`."""
    found: str
    expected: str
    remedy: str

    def sentence(self) -> str:
        """The fault in one line."""
        where = self.path or "the file"
        return f"{where}: found {self.found}; expected {self.expected}; {self.remedy}"

    def below(self, document: int, prefix: str) -> Fault:
        """The same fault with its path taken as relative to `prefix`."""
        joined = f"{prefix}.{self.path}" if self.path else prefix
        return replace(self, document=document, path=joined)


def shown(value: object) -> str:
    """A value as a fault shows it: short, on one line."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."
