"""YAML as a campaign file may hold it: bounded, safe, without duplicate keys, with line and column.

Called by `campaign_file`. Knows nothing of campaigns: it turns a text into plain data and remembers
where each part stood. It never builds anything but mappings, lists, texts, numbers, booleans and
nulls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from equipoise_protocol.lint_fault import Fault, shown

MAX_BYTES = 8 * 1024 * 1024
"""Several sources of at most 1,000,000 characters each fit; a disk image does not."""

MAX_PARTS = 200_000
"""Mappings, lists and scalars, aliases written out: a small file can't unfold into a huge one."""

MAX_DEPTH = 60
"""Levels of nesting; a campaign needs about ten."""

# The C loader where PyYAML was built with it: ten times as fast.
_BASE: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]
    """The safe loader without dates: JSON has none, so an unquoted date is a text on a cluster."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _BASE.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a file as plain data, with the nodes that know their places."""

    data: tuple[object, ...]
    nodes: tuple[yaml.Node, ...]

    def position(self, document: int, path: str) -> Position:
        """Where a path of a document stands, or the nearest part above it that is there."""
        if document >= len(self.nodes):
            return Position(1, 1)
        node = self.nodes[document]
        place, rest = node, path
        while rest:
            step = _step(node, rest)
            if step is None:
                break
            place, node, rest = step
        return _position(place.start_mark)


class YamlFaultyError(Exception):
    """The text is no YAML that a campaign file may hold."""

    def __init__(self, faults: tuple[tuple[Position, Fault], ...]) -> None:
        """Keeps the faults with their places."""
        self.faults = faults
        super().__init__("; ".join(fault.sentence() for _, fault in faults))


def read(content: bytes) -> Documents:
    """The documents of a YAML text; empty ones are left out.

    Raises:
        YamlFaultyError: too large, not UTF-8, not YAML, unfolding without end, or keys that stand
            twice.
    """
    text = _text(content)
    nodes: list[yaml.Node] = []
    try:
        _check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            nodes.append(loader.get_node())
    except yaml.YAMLError as error:
        raise YamlFaultyError((_syntax_fault(error, len(nodes), text),)) from error
    kept = [node for node in nodes if node.tag != "tag:yaml.org,2002:null"]
    faults = [found for index, node in enumerate(kept) for found in _structure_faults(index, node)]
    if faults:
        raise YamlFaultyError(tuple(faults))
    data: list[object] = []
    for index, node in enumerate(kept):
        try:
            data.append(_Loader("").construct_document(node))
        except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
            raise YamlFaultyError((_syntax_fault(error, index, text),)) from error
    return Documents(data=tuple(data), nodes=tuple(kept))


def _text(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        fault = Fault(
            document=0,
            path="",
            found=f"{len(content)} bytes",
            expected=f"at most {MAX_BYTES}",
            remedy="keep large sources outside the file and name them by path or artefact",
        )
        raise YamlFaultyError(((Position(1, 1), fault),))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        fault = Fault(
            document=0,
            path="",
            found=f"byte 0x{content[error.start]:02x}",
            expected="UTF-8",
            remedy="save the file as UTF-8",
        )
        raise YamlFaultyError(((Position(line, column), fault),)) from error


def _syntax_fault(error: Exception, document: int, text: str) -> tuple[Position, Fault]:
    position = Position(1, 1)
    found = str(error)
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        position = _position(mark) if mark is not None else position
        found = ", ".join(part for part in (error.context, error.problem) if part)
    elif isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        found = f"{error.reason}: {shown(error.character)}"
    fault = Fault(
        document=document,
        path="",
        found=found.removeprefix("found "),
        expected="YAML that a campaign file may hold",
        remedy="correct the syntax here or just above",
    )
    return position, fault


def _check_depth(text: str) -> None:
    """Refuses deep nesting from the parser's events, before anything recurses over it."""
    depth = 0
    loader = _Loader(text)
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            fault = Fault(
                document=0,
                path="",
                found=f"more than {MAX_DEPTH} levels of nesting",
                expected="a campaign, which needs about ten",
                remedy="look for a bracket or an indentation too many",
            )
            raise YamlFaultyError(((_position(event.start_mark), fault),))


def _structure_faults(document: int, root: yaml.Node) -> Iterator[tuple[Position, Fault]]:
    """Keys that stand twice, and nodes that unfold without bound; each place once."""
    sizes: dict[int, int] = {}
    under_way: set[int] = set()
    faults: list[tuple[Position, Fault]] = []

    def size(node: yaml.Node, path: str, depth: int) -> int:
        if id(node) in under_way or depth > MAX_DEPTH:
            faults.append(_unbounded(document, node, path, looped=id(node) in under_way))
            return 1
        if id(node) in sizes:
            return sizes[id(node)]
        under_way.add(id(node))
        total = 1
        for key, child, below in _children(node, path):
            total += size(child, below, depth + 1) + (1 if key is not None else 0)
        if isinstance(node, yaml.MappingNode):
            faults.extend(_duplicates(document, node, path))
        under_way.discard(id(node))
        sizes[id(node)] = total
        return total

    total = size(root, "", 1)
    yield from faults
    if total > MAX_PARTS and not faults:
        fault = Fault(
            document=document,
            path="",
            found=f"{total} parts once its aliases are written out",
            expected=f"at most {MAX_PARTS}",
            remedy="write shorter lists, and fewer aliases of aliases",
        )
        yield _position(root.start_mark), fault


def _children(node: yaml.Node, path: str) -> Iterator[tuple[yaml.Node | None, yaml.Node, str]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            yield key, value, f"{path}.{name}" if path else name
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield None, value, f"{path}[{index}]"


def _duplicates(
    document: int, node: yaml.MappingNode, path: str
) -> Iterator[tuple[Position, Fault]]:
    first: dict[tuple[str, str], yaml.Node] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        name = (key.tag, key.value)
        if name in first:
            line = _position(first[name].start_mark).line
            fault = Fault(
                document=document,
                path=f"{path}.{key.value}" if path else str(key.value),
                found=f"the key {shown(key.value)} a second time (first in line {line})",
                expected="each key once",
                remedy="remove or rename one: YAML readers differ in which one they take",
            )
            yield _position(key.start_mark), fault
        else:
            first[name] = key


def _unbounded(
    document: int, node: yaml.Node, path: str, *, looped: bool
) -> tuple[Position, Fault]:
    fault = Fault(
        document=document,
        path=path,
        found="an alias of a part that it stands in" if looped else f"more than {MAX_DEPTH} levels",
        expected="data that end",
        remedy="write the part out instead of its alias" if looped else "nest less deeply",
    )
    return _position(node.start_mark), fault


def _step(node: yaml.Node, rest: str) -> tuple[yaml.Node, yaml.Node, str] | None:
    """One step down a path: the node that shows the place, the node to go on from, what is left."""
    if isinstance(node, yaml.SequenceNode) and rest.startswith("["):
        index, _, after = rest[1:].partition("]")
        if index.isdigit() and int(index) < len(node.value):
            child = node.value[int(index)]
            return child, child, after.removeprefix(".")
    if isinstance(node, yaml.MappingNode):
        # Keys may hold dots themselves (labels do), so the longest one that fits is taken.
        fitting = [
            (key, value)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
            and rest.startswith(key.value)
            and rest[len(key.value) : len(key.value) + 1] in ("", ".", "[")
        ]
        if fitting:
            key, value = max(fitting, key=lambda pair: len(pair[0].value))
            return key, value, rest[len(key.value) :].removeprefix(".")
    return None


def _position(mark: yaml.Mark) -> Position:
    return Position(line=mark.line + 1, column=mark.column + 1)
