"""An HTML report as a test reads it: elements, figures and text, by the standard library alone.

Read by the tests of the report.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID_ELEMENTS = frozenset({"meta", "br", "hr", "img", "input", "link"})

INLINE_ELEMENTS = frozenset({"code", "data", "span", "strong"})


@dataclass
class Element:
    """A node of the page."""

    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All its text as a reader sees it, spaces collapsed."""
        return self.text_without()

    def text_without(self, *names: str) -> str:
        """Its text but that of the named elements."""
        return " ".join(self._raw(names).split())

    def _raw(self, without: tuple[str, ...]) -> str:
        parts = [
            one if isinstance(one, str) else one._raw(without)
            for one in self.children
            if isinstance(one, str) or one.name not in without
        ]
        air = "" if self.name in INLINE_ELEMENTS else " "
        return air + "".join(parts) + air

    def all(self, name: str, *, of_class: str = "") -> list[Element]:
        """Every element below it with that name, in document order."""
        found: list[Element] = []
        for one in self.children:
            if isinstance(one, Element):
                has_class = not of_class or of_class in one.attributes.get("class", "").split()
                found += [one] if one.name == name and has_class else []
                found += one.all(name, of_class=of_class)
        return found

    def every(self) -> list[Element]:
        """Every element below it."""
        found: list[Element] = []
        for one in self.children:
            if isinstance(one, Element):
                found += [one, *one.every()]
        return found


class Reader(HTMLParser):
    """Builds the tree and refuses what is not well-formed: our templates close what they open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self._open = [self.root]
        self.doctype = ""

    def handle_decl(self, decl: str) -> None:
        self.doctype = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID_ELEMENTS:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID_ELEMENTS:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].name == tag, f"</{tag}> closes <{self._open[-1].name}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read(page: str) -> Element:
    """The page's tree."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.doctype == "doctype html"
    assert reader._open == [reader.root], f"never closed: {reader._open[-1].name}"
    return reader.root
