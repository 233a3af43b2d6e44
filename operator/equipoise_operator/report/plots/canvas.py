"""A sheet in pixels that a plot draws on, and the SVG string that it becomes.

Called by every plot. Draws through matplotlib's SVG backend on a figure of its own, without pyplot
and without global state; the string is the same on every call: no date, no random id. It carries no
`style` attribute and no script, so that it stands inline under a content security policy that
allows neither.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from equipoise_operator.report.plots.theme import TEXT, VARIABLES, Role

Align = Literal["left", "center", "right"]
Marker = Literal["o", "D", "x", "|", "s", "^", "v"]

_SVG: Final = "{http://www.w3.org/2000/svg}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_POINTS_PER_INCH: Final = 72
_NUMBER: Final = re.compile(r"-?\d+\.\d+")
_KEPT_STYLE: Final = frozenset(
    {
        "fill",
        "fill-opacity",
        "font-size",
        "font-weight",
        "opacity",
        "stroke",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-opacity",
        "stroke-width",
        "text-anchor",
    }
)
"""Properties that become presentation attributes; fonts are the page's, joins are the root's."""
_DRAWN: Final = frozenset({"defs", "path", "use", "text"})
_BOLD: Final = "700"


class Canvas:
    """Pixels with the origin at the top left, as SVG has them."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._figure = Figure(
            figsize=(width / _POINTS_PER_INCH, height / _POINTS_PER_INCH),
            dpi=_POINTS_PER_INCH,
            facecolor="none",
        )
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, 0)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        role: Role = Role.GRID,
        width: float = 1,
        dashed: bool = False,
    ) -> None:
        """A straight line."""
        self._axes.plot(
            [start[0], end[0]],
            [start[1], end[1]],
            color=role.value,
            linewidth=width,
            linestyle=(0, (3, 3)) if dashed else "solid",
            solid_capstyle="butt",
            clip_on=False,
        )

    def path(
        self, points: Sequence[tuple[float, float]], *, role: Role, width: float = 1.25
    ) -> None:
        """A line through points."""
        self._axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=role.value,
            linewidth=width,
            clip_on=False,
        )

    def box(self, corner: tuple[float, float], size: tuple[float, float], *, role: Role) -> None:
        """A filled rectangle; `corner` is its top left."""
        self._axes.add_patch(
            Rectangle(
                corner, *size, facecolor=role.value, edgecolor="none", linewidth=0, clip_on=False
            )
        )

    def marks(  # noqa: PLR0913 - how a mark looks
        self,
        points: Sequence[tuple[float, float]],
        *,
        role: Role,
        marker: Marker = "o",
        size: float = 6,
        hollow: bool = False,
        width: float = 1.25,
    ) -> None:
        """The same mark at each point; hollow ones are filled with the page's colour."""
        if not points:
            return
        self._axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="none",
            marker=marker,
            markersize=size,
            markerfacecolor=Role.PAPER.value if hollow else role.value,
            markeredgecolor=role.value,
            markeredgewidth=width,
            clip_on=False,
        )

    def text(  # noqa: PLR0913 - how a text looks
        self,
        at: tuple[float, float],
        text: str,
        *,
        role: Role = Role.INK,
        align: Align = "left",
        size: float = TEXT,
        bold: bool = False,
    ) -> None:
        """One line of text, its middle at `at[1]` whatever the reader's font."""
        self._axes.text(
            at[0],
            at[1] + 0.35 * size,
            text,
            color=role.value,
            ha=align,
            va="baseline",
            fontsize=size,
            fontweight=700 if bold else 400,
            parse_math=False,
            clip_on=False,
        )

    def svg(self, *, key: str, label: str) -> str:
        """The sheet as an `<svg>` element.

        Args:
            key: unique within the page; keeps ids of plots apart.
            label: what the plot shows, in words, for who can't see it.
        """
        sheet = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
            self._figure.savefig(
                sheet, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
            )
        drawn = ET.fromstring(sheet.getvalue())  # noqa: S314 - matplotlib's own output of a moment ago
        root = ET.Element(
            "svg",
            {
                "viewBox": f"0 0 {self.width:g} {self.height:g}",
                "width": f"{self.width:g}",
                "height": f"{self.height:g}",
                "role": "img",
                "aria-label": label,
                "stroke-linejoin": "round",
            },
        )
        root.extend(list(_plain(drawn, key=key)))
        return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _plain(element: ET.Element, *, key: str) -> Iterator[ET.Element]:
    """What an element draws, without its groups, metadata, style sheet and invisible patches."""
    for child in element:
        name = child.tag.removeprefix(_SVG)
        if name == "g":
            yield from _plain(child, key=key)
        elif name in _DRAWN:
            kept = _attributes(child, key=key)
            if name == "path" and kept.get("fill") == "none" and "stroke" not in kept:
                continue
            plain = ET.Element(name, kept)
            plain.text = child.text if name == "text" else None
            plain.extend(list(_plain(child, key=key)))
            if name != "defs" or len(plain):
                yield plain


def _attributes(element: ET.Element, *, key: str) -> dict[str, str]:
    kept: dict[str, str] = {}
    for name, value in element.attrib.items():
        if name == "style":
            kept |= _presentation(value)
        elif name == _HREF:
            kept["href"] = f"#{key}-{value.removeprefix('#')}"
        elif name == "id":
            kept["id"] = f"{key}-{value}"
        elif name in {"x", "y", "d"}:
            kept[name] = " ".join(_NUMBER.sub(_rounded, value).split())
    return kept


def _presentation(style: str) -> dict[str, str]:
    pairs = (one.split(":", 1) for one in style.split(";") if ":" in one)
    properties = {name.strip(): value.strip() for name, value in pairs}
    kept = {name: value for name, value in properties.items() if name in _KEPT_STYLE}
    for name in ("fill", "stroke"):
        if kept.get(name, "none") != "none":
            # A colour without a role would not follow the page into the dark: let it fail here.
            kept[name] = f"var({VARIABLES[kept[name]]})"
    if kept.get("font-weight") == _BOLD:
        kept["font-weight"] = "600"
    if "font-size" in kept:
        kept["font-size"] = kept["font-size"].removesuffix("px")
    if kept.get("text-anchor") == "start":
        del kept["text-anchor"]
    return kept


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
