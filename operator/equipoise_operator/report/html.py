"""The report as one HTML file that loads nothing.

Called by the command line. Every text is escaped, a candidate's too; the page's policy forbids
scripts, requests and any style but its own.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from equipoise_operator.report import drawings
from equipoise_operator.report.data import ReportData
from equipoise_operator.report.page import page
from equipoise_operator.report.sentence import Figure

_UNFOLDED: Final = 2
"""Up to so many verdicts their measurements stand open; more would bury the verdicts."""


def render(data: ReportData) -> str:
    """The page. Pure: the same data, the same bytes."""
    shown = page(data)
    environment = _environment()
    style = environment.loader.get_source(environment, "style.css")[0]  # type: ignore[union-attr]
    return environment.get_template("report.html.j2").render(
        page=shown,
        style=style,
        policy=_policy(style),
        forest=drawings.forest_of(shown),
        slopes=[
            drawings.slope_of(shown, one, position=position)
            for position, one in enumerate(shown.transfers)
        ],
        drawings=[
            drawings.bench_drawings(shown, one, position=position)
            for position, one in enumerate(shown.benches)
        ],
        is_unfolded=len(shown.benches) <= _UNFOLDED,
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("equipoise_operator.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure"] = lambda value: isinstance(value, Figure)
    return environment


def _policy(style: str) -> str:
    """A content security policy: no script, no request, and no style but the one with this hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
