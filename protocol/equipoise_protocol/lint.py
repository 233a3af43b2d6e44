"""All faults of a campaign file at once, and the parsed file where there are none.

Called by every command that reads a campaign file and by the operator before it registers one.
Pure: it gets the documents as plain data and never reads a file. Rules across fields are functions
over one validated part each, so that a fault in one place doesn't hide those in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from equipoise_protocol import lint_rules
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.lint_fault import Fault, shown
from equipoise_protocol.spec import (
    API_VERSION,
    Campaign,
    Decision,
    Design,
    NodeClass,
    Source,
)

MAX_FAULTS = 200
"""A file with more is cut off there, and the last fault says so."""

CONFIG_MAP_VERSION = "v1"

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A file without faults."""

    campaign: Campaign
    node_classes: tuple[NodeClass, ...]
    config_maps: Mapping[tuple[str, str], str]
    """Text by (ConfigMap name, key)."""


class Faulty(ProtocolError):  # noqa: N818 - it says what the file is, as `lint.Faulty`
    """A campaign file with faults; carries them all."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        """Keeps the faults; the message names the first and counts the rest."""
        self.faults = faults
        super().__init__(f"{len(faults)} faults; the first: {faults[0].sentence()}")


def faults_of(documents: Sequence[object], *, self_contained: bool = True) -> tuple[Fault, ...]:
    """Every fault of a campaign file, in file order.

    Args:
        documents: the YAML documents as plain data.
        self_contained: whether node classes and ConfigMaps must stand in the same file, as a local
        run
            needs it; on a cluster they may exist there already.
    """
    found = [*_document_faults(documents), *_cross_faults(documents, self_contained=self_contained)]
    found.sort(key=lambda fault: fault.document)
    if len(found) > MAX_FAULTS:
        cut = Fault(
            document=0,
            path="",
            found=f"{len(found)} faults",
            expected="a campaign file",
            remedy=f"only the first {MAX_FAULTS} are listed; mend those and lint again",
        )
        return (*found[:MAX_FAULTS], cut)
    return tuple(found)


def parse(documents: Sequence[object], *, self_contained: bool = True) -> CampaignFile:
    """The campaign, node classes and ConfigMaps of a file.

    Raises:
        Faulty: with every fault that `faults_of` finds.
    """
    faults = faults_of(documents, self_contained=self_contained)
    if faults:
        raise Faulty(faults)
    by_kind = [
        (document, _kind(document)) for document in documents if isinstance(document, Mapping)
    ]
    campaign = next(
        Campaign.model_validate(document) for document, kind in by_kind if kind == "Campaign"
    )
    return CampaignFile(
        campaign=campaign,
        node_classes=tuple(
            NodeClass.model_validate(document) for document, kind in by_kind if kind == "NodeClass"
        ),
        config_maps=_config_maps(documents),
    )


def _kind(document: Mapping[str, Any]) -> str:
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == API_VERSION and kind in ("Campaign", "NodeClass"):
        return str(kind)
    if version == CONFIG_MAP_VERSION and kind == "ConfigMap":
        return "ConfigMap"
    return ""


def _document_faults(documents: Sequence[object]) -> Iterator[Fault]:
    kinds: Counter[str] = Counter()
    for index, document in enumerate(documents):
        if not isinstance(document, Mapping):
            yield Fault(
                document=index,
                path="",
                found=shown(document),
                expected="an object with apiVersion, kind, metadata and spec",
                remedy="write a Campaign, a NodeClass or a ConfigMap, or remove this document",
            )
            continue
        kind = _kind(document)
        kinds[kind] += 1
        if not kind:
            yield Fault(
                document=index,
                path="kind",
                found=f"{shown(document.get('apiVersion'))}, {shown(document.get('kind'))}",
                expected=f"{API_VERSION} with Campaign or NodeClass, or v1 with ConfigMap",
                remedy="correct apiVersion and kind",
            )
        elif kind == "ConfigMap":
            yield from _config_map_faults(index, document)
        else:
            model: type[BaseModel] = Campaign if kind == "Campaign" else NodeClass
            yield from _model_faults(index, document, model)
    if kinds["Campaign"] != 1:
        yield Fault(
            document=0,
            path="",
            found=f"{kinds['Campaign']} documents of kind Campaign",
            expected="exactly one",
            remedy="put each campaign in a file of its own",
        )


def _config_map_faults(index: int, document: Mapping[str, Any]) -> Iterator[Fault]:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        yield Fault(
            document=index,
            path="metadata.name",
            found=shown(name),
            expected="the ConfigMap's name",
            remedy="give it one; sources refer to it",
        )
    data = document.get("data")
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        yield Fault(
            document=index,
            path="data",
            found=shown(data),
            expected="texts by key",
            remedy="write each source under its key as a block scalar (key: |)",
        )


def _model_faults(
    index: int, document: Mapping[str, Any], model: type[BaseModel]
) -> Iterator[Fault]:
    try:
        model.model_validate(document)
    except ValidationError as faulty:
        errors = faulty.errors(include_url=False)
        for error in errors:
            if _follows_from_another(error["loc"], errors):
                continue
            yield Fault(
                document=index,
                path=_path(error["loc"]),
                found="nothing" if error["type"] == "missing" else shown(error["input"]),
                expected=_expected(error["type"], error["msg"]),
                remedy=_remedy(error["type"], model, error["loc"]),
            )


def _follows_from_another(location: Sequence[int | str], errors: Sequence[ErrorDetails]) -> bool:
    """A list counts as too short when its items are at fault: those are told, the count is not."""
    return any(
        len(other["loc"]) > len(location) and other["loc"][: len(location)] == tuple(location)
        for other in errors
    )


def _path(location: Sequence[int | str]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _expected(kind: str, message: str) -> str:
    if kind == "missing":
        return "a value"
    if kind == "extra_forbidden":
        return "no such field"
    return message.removeprefix("Value error, ").removeprefix("Input should be ")


def _remedy(kind: str, model: type[BaseModel], location: Sequence[int | str]) -> str:
    if kind == "missing":
        return "add the field"
    if kind == "extra_forbidden":
        known = _fields_at(model, location[:-1])
        return "correct the name or remove the field" + (
            f"; known here: {', '.join(known)}" if known else ""
        )
    return "correct the value"


def _fields_at(model: type[BaseModel], location: Sequence[int | str]) -> tuple[str, ...]:
    """The field names that the model knows at a location, as users write them."""
    current = model
    for part in location:
        field = next((one for one in current.model_fields.values() if one.alias == part), None)
        inner = None if field is None else _model_in(field.annotation)
        current = inner or current
    return tuple(field.alias or name for name, field in current.model_fields.items())


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - an annotation is any object
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((one for one in inner if one is not None), None)


def _cross_faults(documents: Sequence[object], *, self_contained: bool) -> Iterator[Fault]:
    keys = _config_maps(documents)
    classes = _class_names(documents)
    for index, document in enumerate(documents):
        if not isinstance(document, Mapping) or not isinstance(
            spec := document.get("spec"), Mapping
        ):
            continue
        kind = _kind(document)
        if kind == "NodeClass":
            node_class = _part(NodeClass, document)
            if node_class is not None:
                yield from _at(index, "spec", lint_rules.node_class_faults(node_class.spec))
        if kind != "Campaign":
            continue
        yield from _at(index, "spec", _comparison_faults(spec, keys if self_contained else None))
        yield from _at(index, "spec", lint_rules.name_faults(spec))
        yield from _at(index, "spec", lint_rules.amendment_faults(spec))
        yield from _at(index, "spec", _rule_faults(spec))
        if self_contained:
            yield from _at(index, "spec", lint_rules.class_reference_faults(spec, classes))
    yield from lint_rules.repeated_class_faults(classes)


def _at(index: int, prefix: str, faults: Iterator[Fault]) -> Iterator[Fault]:
    for fault in faults:
        yield fault.below(index, prefix)


def _comparison_faults(
    spec: Mapping[str, Any], keys: Mapping[tuple[str, str], str] | None
) -> Iterator[Fault]:
    comparisons = spec.get("comparisons")
    if not isinstance(comparisons, Sequence) or isinstance(comparisons, str):
        return
    design = _part(Design, spec.get("design"))
    for position, raw in enumerate(comparisons):
        prefix = f"comparisons[{position}]"
        if isinstance(raw, Mapping):
            for rule in lint_rules.COMPARISON_RULES:
                yield from _at(0, prefix, rule(raw))
            if design is not None:
                yield from _at(0, prefix, lint_rules.selection_faults(raw, design))
        if keys is not None:
            yield from _at(0, prefix, lint_rules.reference_faults(raw, keys, _source))


def _source(raw: object) -> Source | None:
    return _part(Source, raw)


def _rule_faults(spec: Mapping[str, Any]) -> Iterator[Fault]:
    design = _part(Design, spec.get("design"))
    decision = _part(Decision, spec.get("decision", {}))
    if design is not None:
        yield from lint_rules.design_faults(design)
    if decision is not None:
        yield from lint_rules.decision_faults(decision)
    if design is not None and decision is not None:
        yield from lint_rules.significance_faults(design, decision, lint_rules.question_count(spec))


def _part(model: type[T], raw: object) -> T | None:
    try:
        return model.model_validate(raw)
    except ValidationError:
        return None


def _config_maps(documents: Sequence[object]) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    for document in documents:
        if not isinstance(document, Mapping) or _kind(document) != "ConfigMap":
            continue
        metadata, data = document.get("metadata"), document.get("data")
        if isinstance(metadata, Mapping) and isinstance(data, Mapping):
            name = str(metadata.get("name"))
            texts |= {(name, str(key)): text for key, text in data.items() if isinstance(text, str)}
    return texts


def _class_names(documents: Sequence[object]) -> tuple[tuple[int, str], ...]:
    names: list[tuple[int, str]] = []
    for index, document in enumerate(documents):
        if isinstance(document, Mapping) and _kind(document) == "NodeClass":
            metadata = document.get("metadata")
            if isinstance(metadata, Mapping):
                names.append((index, str(metadata.get("name"))))
    return tuple(names)
