"""The texts that a campaign's sources name, and every one that can't be read, all at once.

Called by `campaign_file` before anything is registered. Works on the raw documents, so that a fault
in one part of a file doesn't hide an unreadable source in another. It never runs a source.
"""

from __future__ import annotations

import ast
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from equipoise_protocol.lint_fault import Fault
from equipoise_protocol.spec import Source

MAX_CHARACTERS = 1_000_000
"""As `spec.SourceText`: an inline source may not be longer either."""

PROBLEM_NAMES = ("Model", "get_inputs", "get_init_inputs")
"""What KernelBench's problem format defines at the top of the file."""

ReadArtefact = Callable[[str], bytes]
"""Content by digest; raises OSError, KeyError or an error of the store where it is not there."""

ReadFile = Callable[[Path], bytes]
"""Content by path; raises UnreadableError where it can't be had."""


class UnreadableError(Exception):
    """A source that gives no text; carries what was found, what was expected, what to do."""

    def __init__(self, found: str, *, expected: str, remedy: str) -> None:
        """Keeps the three parts of the fault."""
        self.found = found
        self.expected = expected
        self.remedy = remedy
        super().__init__(f"found {found}; expected {expected}; {remedy}")


@dataclass(frozen=True, slots=True)
class Named:
    """A source as it stands in a document."""

    path: str
    comparison: str
    arm: str
    """Arm's name, or empty for the comparison's problem file."""
    source: Source


def named_sources(campaign: object) -> Iterator[Named]:
    """Every well-formed source of a raw Campaign document; `lint` names those that aren't. Pure."""
    comparisons = _dig(campaign, "spec", "comparisons")
    for index, comparison in enumerate(comparisons if isinstance(comparisons, Sequence) else ()):
        name = str(_dig(comparison, "name"))
        places = [("task.kernel.problem", "", _dig(comparison, "task", "kernel", "problem"))]
        arms = _dig(comparison, "arms")
        for position, arm in enumerate(arms if isinstance(arms, Sequence) else ()):
            raw = _dig(arm, "kernel", "source")
            places.append((f"arms[{position}].kernel.source", str(_dig(arm, "name")), raw))
        for path, arm_name, raw in places:
            source = _parsed(raw)
            if source is not None:
                yield Named(f"spec.comparisons[{index}].{path}", name, arm_name, source)


def read_file(path: Path) -> bytes:
    """The content of a file of this machine.

    Raises:
        UnreadableError: there is none that can be read.
    """
    if not path.is_absolute():
        raise UnreadableError(
            f"the relative path {path}",
            expected="an absolute path, which means the same wherever the campaign runs",
            remedy="write the path from the root, or put the text into a ConfigMap of this file",
        )
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError(
                f"{path}, which is no regular file",
                expected="a readable text file",
                remedy="correct the path",
            )
        with path.open("rb") as file:
            return file.read(4 * MAX_CHARACTERS + 1)  # UTF-8 takes at most four bytes a character
    except OSError as error:
        raise UnreadableError(
            f"{path}: {error.strerror}",
            expected="a readable text file",
            remedy="correct the path or the file's permissions",
        ) from error


def resolve(
    campaign: object,
    *,
    document: int,
    config_maps: Mapping[tuple[str, str], str],
    read_artefact: ReadArtefact,
    read_file: ReadFile = read_file,
) -> tuple[dict[tuple[str, str], str], tuple[Fault, ...]]:
    """Text of each source by (comparison, arm or empty: the problem), and faults of the others.

    Args:
        campaign: the raw Campaign document.
        document: its index in the file, for the faults.
        config_maps: text by (ConfigMap name, key), from the same file.
        read_artefact: content by digest, from the campaign's artefact folder.
        read_file: content by path; by default from this machine.
    """
    texts: dict[tuple[str, str], str] = {}
    faults: list[Fault] = []
    for named in named_sources(campaign):
        reference = named.source.config_map_key_ref
        if reference is not None and (reference.name, reference.key) not in config_maps:
            continue  # lint's fault
        try:
            text = _text(named.source, config_maps, read_artefact, read_file)
            if not named.arm:
                _check_problem(text)
        except UnreadableError as error:
            faults.append(
                Fault(
                    document=document,
                    path=named.path,
                    found=error.found,
                    expected=error.expected,
                    remedy=error.remedy,
                )
            )
        else:
            texts[named.comparison, named.arm] = text
    return texts, tuple(faults)


def _text(
    source: Source,
    config_maps: Mapping[tuple[str, str], str],
    read_artefact: ReadArtefact,
    read_file: ReadFile,
) -> str:
    if source.inline is not None:
        return source.inline
    if source.config_map_key_ref is not None:
        return config_maps[source.config_map_key_ref.name, source.config_map_key_ref.key]
    if source.path is not None:
        return _decoded(read_file(Path(source.path)), source.path)
    digest = str(source.artefact)
    try:
        content = read_artefact(digest)
    except Exception as error:
        raise UnreadableError(
            f"no artefact {digest} ({error})",
            expected="an artefact in the output folder's store",
            remedy="put it there, or name the source by a ConfigMap key",
        ) from error
    return _decoded(content, digest)


def _decoded(content: bytes, name: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{name}: byte {error.start} is not UTF-8",
            expected="a text in UTF-8",
            remedy="save the source as UTF-8",
        ) from error
    if len(text) > MAX_CHARACTERS:
        raise UnreadableError(
            f"{name}: more than {MAX_CHARACTERS} characters",
            expected=f"at most {MAX_CHARACTERS}",
            remedy="shorten the source; get_inputs makes data from the seed",
        )
    return text


def _check_problem(text: str) -> None:
    """The problem file is trusted and runs first: what would fail in every block is said now."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnreadableError(
            f"no Python: {error}",
            expected="a Python file in KernelBench's format",
            remedy="correct the problem file",
        ) from error
    missing = [name for name in PROBLEM_NAMES if name not in set(_defined(module))]
    if missing:
        raise UnreadableError(
            f"a problem file without {', '.join(missing)}",
            expected=", ".join(PROBLEM_NAMES),
            remedy="define them at the top level of the file (KernelBench's format)",
        )


def _defined(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                yield node.name
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.alias():
                yield node.asname or node.name


def _parsed(raw: object) -> Source | None:
    try:
        return Source.model_validate(raw)
    except ValidationError:
        return None


def _dig(raw: object, *names: str) -> object:
    for name in names:
        raw = raw.get(name) if isinstance(raw, Mapping) else None
    return raw
