"""The report as Markdown: the HTML page's twin for terminals and pull requests, without plots.

Called by the command line. Every text is escaped, a candidate's too, so that none can become
markup.
"""

from __future__ import annotations

import re
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from equipoise_operator.report.cards import Words
from equipoise_operator.report.data import ReportData
from equipoise_operator.report.page import page
from equipoise_operator.report.sentence import NARROW_SPACE, NO_FIGURE, Figure

_MARKUP: Final = re.compile(r"([\\`*_\[\]<>|&#])")
_BLANK_LINES: Final = re.compile(r"\n{3,}")


class Escaped(str):
    """Text that can't be taken for markup any more."""

    __slots__ = ()


def render(data: ReportData) -> str:
    """The document. Pure: the same data, the same text."""
    environment = Environment(
        loader=PackageLoader("equipoise_operator.report"),
        autoescape=False,  # noqa: S701 - Markdown has its own: `finalize` below escapes every value
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["words"] = _joined
    environment.filters["code"] = _code
    written = environment.get_template("report.md.j2").render(page=page(data))
    return _BLANK_LINES.sub("\n\n", written)


def escaped(value: object) -> Escaped:
    """A value as one line of text that holds no markup."""
    if isinstance(value, Escaped):
        return value
    if value is None:
        return Escaped(NO_FIGURE)
    text = " ".join(str(value).replace(NARROW_SPACE, " ").split())
    return Escaped(_MARKUP.sub(r"\\\1", text))


def _joined(parts: Words) -> Escaped:
    return escaped("".join(part.text if isinstance(part, Figure) else part for part in parts))


def _code(value: object) -> Escaped:
    # A code span shows everything as it is but its own end.
    return Escaped("`" + " ".join(str(value).split()).replace("`", "'").replace("|", "¦") + "`")
