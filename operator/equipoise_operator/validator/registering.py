"""Whether a Campaign object can be registered, with every reason why not, as `lint` says it.

Called by `campaign_run` before a secret is drawn. The same checks as on a laptop run over the same
documents; what a cluster alone can say comes from here: ConfigMaps and node classes that are not
there, sources that no validator can read, namespaces, nodes, the size of a Secret. Pure: objects
come in as the API server gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from equipoise_operator import sources
from equipoise_operator.api import conditions
from equipoise_operator.api.conditions import ConditionReason
from equipoise_operator.campaign.capability import Capability, registered_class
from equipoise_operator.errors import UsageError
from equipoise_operator.sources import Named, ReadArtefact, UnreadableError
from equipoise_operator.validating.freezing import differences, frozen, listed
from equipoise_operator.validating.intake import Frozen
from equipoise_operator.validator import capabilities, minting
from equipoise_operator.validator.capabilities import LabelledNode
from equipoise_protocol import lint
from equipoise_protocol.lint import CampaignFile
from equipoise_protocol.plan import BlockKey
from equipoise_protocol.registration import Registration
from equipoise_protocol.spec import CampaignSpec, NodeClass

Raw = Mapping[str, Any]

KEPT_METADATA: Final = ("name", "namespace", "labels", "annotations")
"""The rest of an object's metadata is the API server's."""
TRIAL_SECRET: Final = "00" * 32
"""Stands for the campaign's secret while its size in a pod's Secret is worked out."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a campaign is looked at together with."""

    node_classes: Mapping[str, Raw]
    """NodeClass objects by name."""
    nodes: tuple[LabelledNode, ...]
    config_maps: Mapping[tuple[str, str], str]
    """Text by (ConfigMap, key), of those that the campaign names, in its namespace."""
    read_artefact: ReadArtefact
    protocol: tuple[str, str]
    """Version and digest of the installed protocol."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a campaign isn't registered."""

    reason: ConditionReason
    message: str


@dataclass(frozen=True, slots=True)
class Admissible:
    """A campaign without faults."""

    parsed: CampaignFile
    contents: Mapping[tuple[str, str], str]
    capability_of: Callable[[str], Capability]
    protocol: tuple[str, str]
    campaign_uid: str

    def freeze(self, *, secret: str, registered_at: str) -> Registration:
        """The registration: the same for the same secret and time. Pure."""
        return frozen(
            self.parsed,
            self.contents,
            capability_of=self.capability_of,
            protocol=self.protocol,
            secret=secret,
            registered_at=registered_at,
            campaign_uid=self.campaign_uid,
        )


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault and the reason that it gives the condition if there are no others."""

    reason: ConditionReason
    sentence: str


def sources_of(campaign: Raw) -> tuple[Named, ...]:
    """Every well-formed source of a campaign, and where it stands. Pure."""
    return tuple(sources.named_sources(_document(campaign)))


def changed_spec(campaign: Raw, registration: Registration) -> str:
    """Where a campaign's spec is no longer the registered one, in words; empty: nowhere. Pure."""
    try:
        found = CampaignSpec.model_validate(campaign.get("spec"))
    except ValidationError:
        return "it can't be read any more"
    now = found.model_copy(update={"suspend": False, "abort": False})
    return listed(differences(registration, registration.model_copy(update={"spec": now})))


def named_config_maps(campaign: Raw) -> dict[str, frozenset[str]]:
    """Keys by name of every ConfigMap that a campaign's sources name. Pure."""
    found: dict[str, frozenset[str]] = {}
    for named in sources_of(campaign):
        reference = named.source.config_map_key_ref
        if reference is not None:
            found[reference.name] = found.get(reference.name, frozenset()) | {reference.key}
    return found


def examined(campaign: Raw, around: Surroundings) -> Admissible | Refused:
    """The campaign ready to be frozen, or everything that is wrong with it at once. Pure.

    Args:
        campaign: the object in the API's form.
        around: what it is looked at together with.
    """
    document = _document(campaign)
    named = _named_classes(document)
    documents = [document, *(_document(around.node_classes[name]) for name in named.there(around))]
    texts, unreadable = sources.resolve(
        document,
        document=0,
        config_maps=around.config_maps,
        read_artefact=around.read_artefact,
        read_file=_no_file,
    )
    faults = [
        *_lint_faults(documents),
        *(_Fault(ConditionReason.SOURCE_MISSING, one.sentence()) for one in unreadable),
        *_missing_keys(document, around.config_maps),
        *named.faults(around),
    ]
    if faults:
        return _refused(faults)
    parsed = lint.parse(documents, self_contained=False)
    namespace = parsed.campaign.metadata.namespace
    chosen = {one.metadata.name: _chosen(one, around.nodes) for one in parsed.node_classes}
    faults = [
        *(fault for one in parsed.node_classes for fault in _of_namespace(one, namespace)),
        *(one for one in chosen.values() if isinstance(one, _Fault)),
    ]
    if faults:
        return _refused(faults)
    able = {name: one for name, one in chosen.items() if isinstance(one, Capability)}
    admissible = Admissible(
        parsed, texts, able.__getitem__, around.protocol, campaign_uid=campaign["metadata"]["uid"]
    )
    too_large = tuple(_size_faults(admissible))
    return _refused(too_large) if too_large else admissible


def _document(raw: Raw) -> dict[str, Any]:
    """An object as a person would write it in a file."""
    metadata = raw.get("metadata") or {}
    return {
        "apiVersion": raw.get("apiVersion"),
        "kind": raw.get("kind"),
        "metadata": {key: metadata[key] for key in KEPT_METADATA if metadata.get(key)},
        "spec": raw.get("spec"),
    }


@dataclass(frozen=True, slots=True)
class _NamedClasses:
    """Names of the node classes that a raw campaign asks for, in its order."""

    names: tuple[str, ...]

    def there(self, around: Surroundings) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in around.node_classes)

    def faults(self, around: Surroundings) -> Iterator[_Fault]:
        for position, name in enumerate(self.names):
            if name not in around.node_classes:
                present = ", ".join(sorted(around.node_classes)) or "none"
                yield _Fault(
                    ConditionReason.NODE_CLASS_MISSING,
                    f"spec.nodeClasses[{position}]: found {name}; expected a NodeClass of this"
                    f" cluster ({present}); apply one of that name, and the campaign is looked at"
                    " again",
                )


def _named_classes(document: Raw) -> _NamedClasses:
    spec = document.get("spec")
    named = spec.get("nodeClasses") if isinstance(spec, Mapping) else None
    is_list = isinstance(named, Sequence) and not isinstance(named, str)
    texts = [one for one in named if isinstance(one, str)] if is_list and named else []
    return _NamedClasses(tuple(dict.fromkeys(texts)))


def _lint_faults(documents: Sequence[Raw]) -> Iterator[_Fault]:
    for fault in lint.faults_of(documents, self_contained=False):
        document = documents[fault.document]
        name = (document.get("metadata") or {}).get("name", "")
        where = "" if document.get("kind") == "Campaign" else f"{document.get('kind')} {name}: "
        yield _Fault(ConditionReason.FAULTY, where + fault.sentence())


def _no_file(path: Path) -> bytes:
    raise UnreadableError(
        f"the path {path}",
        expected="a source that the cluster can see, since no path can be read by the validator",
        remedy="put the text into a ConfigMap and name its key",
    )


def _missing_keys(document: Raw, texts: Mapping[tuple[str, str], str]) -> Iterator[_Fault]:
    for named in sources.named_sources(document):
        reference = named.source.config_map_key_ref
        if reference is None or (reference.name, reference.key) in texts:
            continue
        namespace = (document.get("metadata") or {}).get("namespace", "default")
        yield _Fault(
            ConditionReason.SOURCE_MISSING,
            f"{named.path}.configMapKeyRef: found no text for ConfigMap {reference.name}, key"
            f" {reference.key}; expected it in namespace {namespace}; apply the ConfigMap, and the"
            " campaign is looked at again",
        )


def _of_namespace(node_class: NodeClass, namespace: str) -> Iterator[_Fault]:
    allowed = node_class.spec.allowed_namespaces
    if allowed and namespace not in allowed:
        name = node_class.metadata.name
        yield _Fault(
            ConditionReason.NAMESPACE_NOT_ALLOWED,
            f"spec.nodeClasses: found {name}, which namespace {namespace} may not use; expected a"
            f" namespace of its spec.allowedNamespaces ({', '.join(allowed)}); apply the campaign"
            " there, or ask who owns the class to add this one",
        )


def _chosen(node_class: NodeClass, nodes: Iterable[LabelledNode]) -> Capability | _Fault:
    """What decides between a class's environment and its fallback: its most capable node.

    Blocks are sent only to nodes that have what the chosen environment needs.
    """
    name = node_class.metadata.name
    matched = capabilities.of_class(node_class, nodes)
    if not matched and node_class.spec.fallback is None:
        return capabilities.ANY
    if not matched:
        return _Fault(
            ConditionReason.NODE_CLASS_MISSING,
            f"spec.nodeClasses: found no node of class {name}; expected one, since its labels"
            " decide between spec.environment and spec.fallback of the class; add a node that"
            " spec.nodeSelector matches, and the campaign is looked at again",
        )
    fallen: Capability | None = None
    unmet: list[str] = []
    for node in matched:
        capability = capabilities.capability_of(node)
        try:
            if not registered_class(node_class, capability).fell_back:
                return capability
        except UsageError:
            lacking = capability.lacks(
                node_class.spec.requirements.isa, node_class.spec.requirements.logical_cpus
            )
            unmet.append(f"{node.name} has {lacking or 'too little for spec.environment'}")
        else:
            fallen = fallen or capability
    return fallen or _Fault(
        ConditionReason.NODE_CLASS_MISSING,
        f"spec.nodeClasses: found no node of class {name} that meets its spec.requirements and"
        f" spec.environment ({conditions.cut('; '.join(unmet), 2_000)}); expected one, as Node"
        " Feature Discovery's labels say it; add such a node, install Node Feature Discovery, or"
        " give the class a fallback",
    )


def _size_faults(admissible: Admissible) -> Iterator[_Fault]:
    """Questions whose planned block doesn't fit into the Secret that brings it to its pod."""
    registration = admissible.freeze(secret=TRIAL_SECRET, registered_at="2000-01-01T00:00:00Z")
    trial = Frozen(registration, admissible.contents, TRIAL_SECRET)
    node_class = registration.classes[0].name
    for position, comparison in enumerate(registration.spec.comparisons):
        planned = trial.plan(BlockKey(1, comparison.name, node_class), 1)
        excess = minting.excess(planned, TRIAL_SECRET)
        if excess > 0:
            yield _Fault(
                ConditionReason.FAULTY,
                f"spec.comparisons[{position}]: found sources that are {excess} bytes too large,"
                f" compressed; expected that they fit into a Secret ({minting.LARGEST_SECRET}"
                " bytes); shorten them, or split the comparison",
            )


def _refused(faults: Sequence[_Fault]) -> Refused:
    reasons = {fault.reason for fault in faults}
    reason = reasons.pop() if len(reasons) == 1 else ConditionReason.FAULTY
    head = "Not registered, and nothing will be measured before it is. " + (
        "One fault:" if len(faults) == 1 else f"{len(faults)} faults:"
    )
    return Refused(reason, conditions.listed(head, [fault.sentence for fault in faults]))
