"""CustomResourceDefinitions out of the protocol's and the status's models.

Called by `generate` and the tests. A custom resource's schema is structural (every type said, no
references, nothing beside its properties), which the JSON schema of pydantic isn't: it is
translated here, and whatever is unknown, unbounded or without a description is refused. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from equipoise_operator.api import names, rules
from equipoise_operator.api.conditions import Condition
from equipoise_operator.api.names import Kind
from equipoise_operator.api.rules import CHANGEABLE, LIST_KEYS, RULES, SETS, Rule
from equipoise_operator.api.status import (
    CampaignStatus,
    ComparisonSpec,
    ComparisonStatus,
    NodeClassStatus,
)
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.spec import CampaignSpec, NodeClassSpec

Schema = dict[str, Any]

_METADATA: Final[Schema] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 253}},
}
"""The name is all that a definition may speak of; the API server knows the rest by itself."""


class Untranslatable(ProtocolError):  # noqa: N818 - it says what the schema is
    """A model whose schema can't be a custom resource's."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    """A named field, never a place in a list."""
    description: str
    kind: str = "string"
    wide: bool = False
    """Shown with `-o wide` alone."""

    def as_data(self) -> Schema:
        """In the API's form. Pure."""
        return {
            "name": self.name,
            "type": self.kind,
            "description": self.description,
            "jsonPath": self.path,
            "priority": 1 if self.wide else 0,
        }


@dataclass(frozen=True, slots=True)
class Definition:
    """One of our kinds with what its objects hold."""

    kind: Kind
    description: str
    spec: type[BaseModel]
    status: type[BaseModel]
    columns: tuple[Column, ...]


AGE: Final = Column("Age", ".metadata.creationTimestamp", "Time since it was created.", "date")

DEFINITIONS: Final[tuple[Definition, ...]] = (
    Definition(
        kind=names.CAMPAIGN,
        description="A pre-registered study: comparisons, design and decision rule, frozen together"
        " when it is registered. Only suspend and abort may change afterwards.",
        spec=CampaignSpec,
        status=CampaignStatus,
        columns=(
            Column("State", ".status.state", "Where it stands; conditions say why."),
            Column("Progress", ".status.progress", "Blocks done of those planned."),
            Column("Verdict", ".status.verdict", "The verdict; Mixed where they differ."),
            Column("Reason", ".status.reason", "Why it stands where it stands."),
            AGE,
            Column("Portability", ".status.portability", "Across node classes.", wide=True),
            Column("Running", ".status.running", "Jobs under way.", "integer", wide=True),
            Column("Pending", ".status.pendingReason", "Why no block is under way.", wide=True),
            Column("Digest", ".status.registration.digest", "The registration.", wide=True),
        ),
    ),
    Definition(
        kind=names.COMPARISON,
        description="One comparison of a campaign on one node class, with its verdict. Made by the"
        " operator; results stay in the ledger when it is deleted.",
        spec=ComparisonSpec,
        status=ComparisonStatus,
        columns=(
            Column("State", ".status.state", "Where it stands; conditions say why."),
            Column("Progress", ".status.progress", "Blocks done of those planned."),
            Column("Verdict", ".status.verdict", "The rule's answer, of the newest look."),
            Column("Ratio", ".status.ratio", "Against the fastest honest baseline."),
            Column("Interval", ".status.interval", "The ratio's interval."),
            Column("Reason", ".status.reason", "Why the verdict is what it is."),
            AGE,
            Column("Baseline", ".status.baseline", "The fastest honest baseline.", wide=True),
            Column("Class", ".spec.nodeClass", "Node class that it is measured on.", wide=True),
            Column("Separation", ".status.separation", "Of arms and collector.", wide=True),
            Column("Running", ".status.running", "Jobs under way.", "integer", wide=True),
            Column("Pending", ".status.pendingReason", "Why no block is under way.", wide=True),
            Column("Digest", ".spec.registrationDigest", "The registration.", wide=True),
        ),
    ),
    Definition(
        kind=names.NODE_CLASS,
        description="Which nodes may be compared with each other, and what the runner applies and"
        " must find there. A campaign keeps the class as it was when it was registered.",
        spec=NodeClassSpec,
        status=NodeClassStatus,
        columns=(
            Column("State", ".status.state", "Whether a node is there to measure on."),
            Column("Matched", ".status.matched", "Nodes that the selector matches.", "integer"),
            Column("Admitted", ".status.admitted", "Nodes that take blocks.", "integer"),
            Column("Busy", ".status.busy", "Nodes with a block under way.", "integer"),
            Column("Reason", ".status.reason", "Why none, or why some are refused."),
            AGE,
            Column("ISA", ".spec.environment.isaCap", "Vector instructions.", wide=True),
            Column("Threads", ".spec.environment.threads", "Of an arm.", "integer", wide=True),
            Column("Refused", ".status.refused", "Nodes without blocks.", "integer", wide=True),
        ),
    ),
)


def definitions() -> dict[str, Schema]:
    """Every CustomResourceDefinition by its plural name, as plain data. Pure."""
    return {one.kind.plural: definition(one) for one in DEFINITIONS}


def definition(of: Definition) -> Schema:
    """A CustomResourceDefinition as plain data. Pure.

    Raises:
        Untranslatable: a model of it can't be a custom resource's.
    """
    kind = of.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd, "labels": {names.LABEL_NAME: names.APP}},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": list(kind.short),
                "categories": [names.CATEGORY],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {
                    "name": names.VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": object_schema(of)},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [column.as_data() for column in of.columns],
                }
            ],
        },
    }


def object_schema(of: Definition) -> Schema:
    """The structural schema of a kind's objects. Pure."""
    return {
        "type": "object",
        "description": of.description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Version of this format."},
            "kind": {"type": "string", "description": "Kind of this object."},
            "metadata": _METADATA,
            "spec": structural(of.spec),
            "status": structural(of.status),
        },
        **_validations(rules.object_rules(of.kind)),
    }


def all_rules() -> tuple[tuple[str, Rule], ...]:
    """Every rule of the API server with the kind that it is about, in the order of the kinds. Pure.

    Those that are made for each field are among them.
    """
    return tuple(
        (of.kind.kind, rule)
        for of in DEFINITIONS
        for rule in (
            *rules.object_rules(of.kind),
            *(
                rule
                for part in (of.spec, of.status)
                for model in _models(part).values()
                for rule in _rules_of(model)
            ),
        )
    )


def structural(model: type[BaseModel]) -> Schema:
    """A model's schema as a custom resource takes it. Pure.

    Raises:
        Untranslatable: it holds something that is unknown here, has no bound or no description.
    """
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _Translation(raw.get("$defs", {}), _models(model)).schema(raw, model.__name__)


def message_expression(rule: Rule) -> str:
    """The CEL expression that makes a rule's message; empty where it always reads the same. Pure.

    By `format`, since the cost of joining texts whose length nobody knows can't be estimated.
    """
    text = message(rule)
    asked = _BRACED.findall(text)
    if not asked:
        return ""
    form = _BRACED.sub("%s", text.replace("%", "%%"))
    return f"{_literal(form)}.format([{', '.join(asked)}])"


def message(rule: Rule) -> str:
    """A rule's message, with its expressions in braces. Pure."""
    return f"found {rule.found}; expected {rule.expected}; {rule.remedy}"


def plain_message(rule: Rule) -> str:
    """A rule's message where nothing is known of the object: what the API server falls back to."""
    if not message_expression(rule):
        return message(rule)
    expected = _BRACED.sub("...", rule.expected)
    return f"expected {expected}; {rule.remedy}"


_BRACED = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class _Translation:
    """One model's JSON schema on its way to a structural one."""

    defined: Mapping[str, Schema]
    models: Mapping[str, type[BaseModel]]

    def schema(self, raw: Schema, where: str) -> Schema:
        """A schema with everything that it refers to in its place."""
        raw = dict(raw)
        raw.pop("$defs", None)
        raw.pop("title", None)
        if "anyOf" in raw:
            raw = self._without_null(raw, where)
        model: type[BaseModel] | None = None
        if "properties" in raw and where in self.models:
            model = self.models[where]
        if "$ref" in raw:
            name = raw.pop("$ref").removeprefix("#/$defs/")
            model = self.models.get(name)
            raw = {**self.defined[name], **raw}
            raw.pop("title", None)
        if "const" in raw:
            raw["enum"] = [raw.pop("const")]
        return self._typed(raw, model, where)

    def _without_null(self, raw: Schema, where: str) -> Schema:
        """An optional field: the API server takes a null for it as no field at all."""
        options = [one for one in raw["anyOf"] if one != {"type": "null"}]
        if len(options) != 1 or len(options) == len(raw["anyOf"]):
            raise Untranslatable(f"{where}: got {raw['anyOf']}, expected one schema or null")
        rest = {key: value for key, value in raw.items() if key not in {"anyOf", "default"}}
        if raw.get("default") is not None:
            rest["default"] = raw["default"]
        return {**options[0], **rest}

    def _typed(self, raw: Schema, model: type[BaseModel] | None, where: str) -> Schema:
        kind = raw.pop("type", None)
        made: Schema = {"type": kind}
        for key in ("description", "default"):
            if key in raw:
                made[key] = _tidy(raw.pop(key))
        match kind:
            case "object" if "properties" in raw:
                made |= self._properties(raw, model, where)
            case "object":
                made |= self._map(raw, where)
            case "array":
                made |= self._array(raw, where)
            case "string":
                made |= _taken(raw, "minLength", "maxLength", "pattern", "enum", "format")
                _bound(where, "a string", bool({"maxLength", "enum", "format"} & set(made)))
                _pattern(where, made)
            case "integer":
                made |= _integer(raw)
                _bound(where, "an integer", {"minimum", "maximum"} <= set(made))
            case "boolean":
                pass
            case _:
                raise Untranslatable(
                    f"{where}: got type {kind}, expected object, array, string, integer or boolean"
                    " (a number has no canonical form: write it as an integer in a unit)"
                )
        if raw:
            raise Untranslatable(
                f"{where}: got {', '.join(sorted(raw))}, expected only what a structural schema"
                " knows; teach `crd` to translate it"
            )
        return made

    def _properties(self, raw: Schema, model: type[BaseModel] | None, where: str) -> Schema:
        if model is None:
            raise Untranslatable(f"{where}: got an object of no model, expected one that is known")
        raw.pop("additionalProperties", None)
        properties: Schema = {}
        for name, field in raw.pop("properties").items():
            inner = f"{where}.{name}"
            properties[name] = {**self.schema(field, inner), **_list_type(model, name, field)}
            if not properties[name].get("description"):
                raise Untranslatable(f"{inner}: got no description, expected a docstring below it")
        made: Schema = {"properties": properties}
        required = raw.pop("required", [])
        if required:
            made["required"] = required
        _unknown_validators(model)
        return {**made, **_validations(_rules_of(model))}

    def _map(self, raw: Schema, where: str) -> Schema:
        _bound(where, "a map", "maxProperties" in raw)
        keys = raw.pop("propertyNames", {})
        shortest, longest = keys.pop("minLength", 0), keys.pop("maxLength", 0)
        if keys or not longest:
            raise Untranslatable(f"{where}: got keys with {keys}, expected keys with a maxLength")
        values = self.schema(raw.pop("additionalProperties"), f"{where}[]")
        return {
            "additionalProperties": values,
            **_taken(raw, "minProperties", "maxProperties"),
            "x-kubernetes-validations": [
                {
                    "rule": f"self.all(key, key.size() >= {shortest} && key.size() <= {longest})",
                    "message": f"expected keys of {shortest} to {longest} characters",
                }
            ],
        }

    def _array(self, raw: Schema, where: str) -> Schema:
        _bound(where, "a list", "maxItems" in raw)
        if "prefixItems" in raw:
            raise Untranslatable(f"{where}: got a tuple of fixed places, expected a list")
        items = self.schema(raw.pop("items"), f"{where}[]")
        if items["type"] == "array":
            items["x-kubernetes-list-type"] = "atomic"
        return {**_taken(raw, "minItems", "maxItems"), "items": items}


def _list_type(model: type[BaseModel], field: str, raw: Schema) -> Schema:
    """How the API server compares a list's items."""
    is_array = raw.get("type") == "array" or any(
        one.get("type") == "array" for one in raw.get("anyOf", ())
    )
    if not is_array:
        return {}
    if _condition_list(model, field):
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    keys = LIST_KEYS.get((model, field))
    if keys is not None:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return {"x-kubernetes-list-type": "set" if (model, field) in SETS else "atomic"}


def _condition_list(model: type[BaseModel], field: str) -> bool:
    """Conditions have two writers, so that each of them must be able to write its own ones."""
    return field == "conditions" and Condition.__name__ in str(model.model_fields[field].annotation)


def _rules_of(model: type[BaseModel]) -> tuple[Rule, ...]:
    own = tuple(rule for rule in RULES if rule.model is model)
    return (*own, *_immutability()) if model is CampaignSpec else own


def _immutability() -> Iterator[Rule]:
    for name, field in CampaignSpec.model_fields.items():
        alias = field.alias or name
        if alias not in CHANGEABLE:
            # A default makes the API server fill the field in; one of None makes it optional.
            there = field.is_required() or field.default is not None
            yield rules.immutable(alias, always_there=there)


def _unknown_validators(model: type[BaseModel]) -> None:
    """A model that checks more than its schema says needs a rule, or a reason why there is none."""
    decorators = model.__pydantic_decorators__
    checks = {*decorators.model_validators, *decorators.field_validators}
    known = {rule.lint.rpartition(".")[2] for rule in RULES if rule.model is model}
    if model is Condition:
        # The reasons of each type: written by our two processes alone, from this very model.
        known.add("_reason_fits")
    if checks - known:
        raise Untranslatable(
            f"{model.__name__}: got the checks {', '.join(sorted(checks - known))} that no rule of"
            " `rules` knows; write the rule"
        )


def _validations(these: tuple[Rule, ...]) -> Schema:
    if not these:
        return {}
    return {"x-kubernetes-validations": [_validation(rule) for rule in these]}


def _validation(rule: Rule) -> Schema:
    made = {"rule": rule.expression, "message": plain_message(rule)}
    expression = message_expression(rule)
    if expression:
        made["messageExpression"] = expression
    if rule.field:
        made["fieldPath"] = rule.field
    made["reason"] = "FieldValueForbidden" if "oldSelf" in rule.expression else "FieldValueInvalid"
    return made


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _taken(raw: Schema, *keys: str) -> Schema:
    return {key: raw.pop(key) for key in keys if key in raw}


def _integer(raw: Schema) -> Schema:
    """Bounds of an integer; one that excludes its bound excludes nothing but that number."""
    made = _taken(raw, "minimum", "maximum", "enum")
    if "exclusiveMinimum" in raw:
        made["minimum"] = raw.pop("exclusiveMinimum") + 1
    if "exclusiveMaximum" in raw:
        made["maximum"] = raw.pop("exclusiveMaximum") - 1
    return made


def _bound(where: str, what: str, bounded: bool) -> None:  # noqa: FBT001 - what it is about
    if not bounded:
        raise Untranslatable(f"{where}: got {what} without a bound, expected one: give it a limit")


def _pattern(where: str, made: Schema) -> None:
    """Only what Go's regular expressions know."""
    if "(?" in made.get("pattern", ""):
        raise Untranslatable(f"{where}: got {made['pattern']}, expected no group with (?")


def _tidy(value: object) -> object:
    """A description on one line; a default without the fields that it leaves empty."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _tidy(one) for key, one in value.items() if one is not None}
    return value


def _models(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Every model that a model holds, by name."""
    found: dict[str, type[BaseModel]] = {}
    waiting: list[Any] = [model]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            if found.setdefault(one.__name__, one) is not one:
                raise Untranslatable(f"got two models named {one.__name__}, expected one")
            if len(found) > _MOST_MODELS:
                raise Untranslatable("got models without end, expected no model within itself")
            waiting.extend(
                field.annotation
                for field in one.model_fields.values()
                if field.annotation not in found.values()
            )
        waiting.extend(getattr(one, "__args__", ()))
    return found


_MOST_MODELS = 200
