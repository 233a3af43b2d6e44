"""Schemas of the custom resources: structural, bounded, described, and what the models say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import fastjsonschema
import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise_operator.api import crd, names, status
from equipoise_protocol.spec import CampaignSpec, NodeClassSpec
from object_cases import a_campaign_object, a_class_object, a_comparison_object

ROOT = Path(__file__).parents[2]

# What a structural schema may hold, as the API server documents it.
STRUCTURAL = {
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
}

Schema = dict[str, Any]
Number = Annotated[int, Field(ge=0, le=9)]


def parts(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema within a schema, with its path."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from parts(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from parts(schema[key], f"{path}[]")


def schema_of(plural: str) -> Schema:
    found: Schema = crd.definitions()[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


ALL = [
    (kind.plural, path, part)
    for kind in names.KINDS
    for path, part in parts(schema_of(kind.plural))
]
OURS = [one for one in ALL if one[1].startswith((".spec", ".status"))]


def test_nothing_stands_in_a_schema_that_is_not_structural() -> None:
    assert {key for _, _, part in ALL for key in part} <= STRUCTURAL
    for _, path, part in ALL:
        assert part["type"] in {"object", "array", "string", "integer", "boolean"}, path
        assert not ("properties" in part and "additionalProperties" in part), path


def test_every_field_has_a_description_on_one_line() -> None:
    for plural, path, part in OURS:
        if not path.endswith("[]"):
            assert part.get("description"), f"{plural}{path}"
            assert "\n" not in part["description"], f"{plural}{path}"


def test_everything_is_bounded() -> None:
    for plural, path, part in OURS:
        where = f"{plural}{path}"
        match part["type"]:
            case "string":
                assert {"maxLength", "enum", "format"} & set(part), where
            case "integer":
                assert {"minimum", "maximum"} <= set(part), where
            case "array":
                assert "maxItems" in part, where
                assert "x-kubernetes-list-type" in part, where
            case "object":
                assert "properties" in part or "maxProperties" in part, where


def test_a_default_is_one_that_its_own_field_accepts() -> None:
    defaults = [(path, part) for _, path, part in OURS if "default" in part]
    assert len(defaults) > 20
    for path, part in defaults:
        fastjsonschema.compile(closed(part))(part["default"])
        assert part["default"] is not None, path


def test_the_defaults_are_those_of_the_models() -> None:
    filled = with_defaults(
        schema_of("campaigns")["properties"]["spec"], a_campaign_object()["spec"]
    )
    read = CampaignSpec.model_validate(filled)
    assert read == CampaignSpec.model_validate(a_campaign_object()["spec"])
    # Nothing is left for the models to fill in but what is absent by its meaning.
    assert filled == read.model_dump(mode="json", by_alias=True, exclude_none=True)


def with_defaults(schema: Schema, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """As the API server fills in defaults: from the outside to the inside."""
    if isinstance(value, list):
        return [with_defaults(schema["items"], one) for one in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    filled = dict(value)
    for name, field in schema["properties"].items():
        if name not in filled and "default" in field:
            filled[name] = field["default"]
        if name in filled:
            filled[name] = with_defaults(field, filled[name])
    return filled


def closed(schema: Schema) -> Schema:
    """A structural schema as plain JSON schema that knows no other field."""
    plain = {key: value for key, value in schema.items() if not key.startswith("x-")}
    plain.pop("default", None)
    if "properties" in plain:
        plain["properties"] = {name: closed(one) for name, one in plain["properties"].items()}
        plain["additionalProperties"] = False
    elif "additionalProperties" in plain:
        plain["additionalProperties"] = closed(plain["additionalProperties"])
    if "items" in plain:
        plain["items"] = closed(plain["items"])
    return plain


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem
)
def test_every_example_fits_the_schemas(example: Path) -> None:
    kinds = {kind.kind: kind.plural for kind in names.KINDS}
    seen = []
    for document in yaml.safe_load_all(example.read_text(encoding="utf-8")):
        if document["kind"] in kinds:
            spec = schema_of(kinds[document["kind"]])["properties"]["spec"]
            fastjsonschema.compile(closed(spec))(document["spec"])
            seen.append(document["kind"])
    assert "Campaign" in seen


@pytest.mark.parametrize(
    ("plural", "spec"),
    [
        ("campaigns", a_campaign_object()["spec"]),
        ("nodeclasses", a_class_object()["spec"]),
        ("comparisons", a_comparison_object()["spec"]),
    ],
)
def test_a_field_that_nobody_knows_is_none_of_the_schemas(plural: str, spec: Schema) -> None:
    check = fastjsonschema.compile(closed(schema_of(plural)["properties"]["spec"]))
    check(spec)
    with pytest.raises(fastjsonschema.JsonSchemaValueException, match="colour"):
        check({**spec, "colour": "blue"})


def test_conditions_are_keyed_by_type() -> None:
    for kind in names.KINDS:
        conditions = schema_of(kind.plural)["properties"]["status"]["properties"]["conditions"]
        assert conditions["x-kubernetes-list-type"] == "map"
        assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_a_column_reads_a_named_field_that_is_there() -> None:
    for definition in crd.DEFINITIONS:
        fields = dict(parts(schema_of(definition.kind.plural)))
        for column in definition.columns:
            if column is crd.AGE:
                continue
            assert column.path in fields, column
            kind = fields[column.path]["type"]
            assert kind == column.kind, column
        assert crd.AGE in definition.columns


def test_every_kind_is_of_the_one_category_and_has_a_short_name() -> None:
    for definition in crd.definitions().values():
        assert definition["spec"]["names"]["categories"] == ["equipoise"]
        assert definition["spec"]["names"]["shortNames"]
        assert definition["spec"]["versions"][0]["subresources"] == {"status": {}}


class Small(BaseModel):
    """A model for one fault of translation."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Unbounded(Small):
    """A string of any length."""

    one: str
    """A text."""


class Undescribed(Small):
    """A field without a docstring."""

    one: Number


class Floating(Small):
    """A float."""

    one: Annotated[float, Field(ge=0, le=1)]
    """A share."""


class HalfBounded(Small):
    """An integer without an end."""

    one: Annotated[int, Field(ge=0)]
    """A number."""


class EndlessList(Small):
    """A list without an end."""

    one: tuple[Number, ...]
    """Numbers."""


class EndlessMap(Small):
    """A map without an end."""

    one: dict[str, Number]
    """Numbers by name."""


class LongKeys(Small):
    """A map with keys of any length."""

    one: Annotated[dict[str, Number], Field(max_length=4)]
    """Numbers by name."""


class Places(Small):
    """A tuple of fixed places."""

    one: Annotated[tuple[Number, bool], Field(max_length=2)]
    """A number and whether."""


class Either(Small):
    """A field of two types."""

    one: Number | bool
    """A number or whether."""


class Lookahead(Small):
    """A pattern that Go doesn't know."""

    one: Annotated[str, Field(pattern="^a(?:b)$", max_length=4)]
    """A text."""


class Several(Small):
    """A number that must be a multiple."""

    one: Annotated[int, Field(ge=0, le=9, multiple_of=3)]
    """A number."""


class Checked(Small):
    """A check that no rule knows."""

    one: Number
    """A number."""

    @model_validator(mode="after")
    def _is_even(self) -> Checked:
        return self


class Anything(Small):
    """A field that may hold anything."""

    one: Any
    """Anything."""


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (Unbounded, "Unbounded.one: got a string without a bound"),
        (Undescribed, "Undescribed.one: got no description"),
        (Floating, "Floating.one: got type number"),
        (HalfBounded, "HalfBounded.one: got an integer without a bound"),
        (EndlessList, "EndlessList.one: got a list without a bound"),
        (EndlessMap, "EndlessMap.one: got a map without a bound"),
        (LongKeys, "LongKeys.one: got keys"),
        (Places, "Places.one: got a tuple of fixed places"),
        (Either, "Either.one: got"),
        (Lookahead, r"Lookahead.one: got \^a"),
        (Several, "Several.one: got multipleOf"),
        (Checked, "Checked: got the checks _is_even"),
        (Anything, "Anything.one: got type None"),
    ],
)
def test_what_a_custom_resource_can_not_say_is_refused_loudly(
    model: type[BaseModel], complaint: str
) -> None:
    with pytest.raises(crd.Untranslatable, match=complaint):
        crd.structural(model)


class Fine(Small):
    """Everything that is translated."""

    above: Annotated[int, Field(gt=0, lt=10)]
    """Bounds that exclude themselves."""
    only: Literal["one"]
    """A constant."""
    maybe: Number | None = None
    """An optional number."""
    by_name: Annotated[
        dict[Annotated[str, Field(max_length=9)], Number], Field(max_length=4, default_factory=dict)
    ]
    """Numbers by name."""


def test_what_a_custom_resource_says_otherwise_is_translated() -> None:
    made = crd.structural(Fine)
    assert made == {
        "type": "object",
        "description": "Everything that is translated.",
        "required": ["above", "only"],
        "properties": {
            "above": {
                "type": "integer",
                "description": "Bounds that exclude themselves.",
                "minimum": 1,
                "maximum": 9,
            },
            "only": {"type": "string", "description": "A constant.", "enum": ["one"]},
            "maybe": {
                "type": "integer",
                "description": "An optional number.",
                "minimum": 0,
                "maximum": 9,
            },
            "by_name": {
                "type": "object",
                "description": "Numbers by name.",
                "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 9},
                "maxProperties": 4,
                "x-kubernetes-validations": [
                    {
                        "rule": "self.all(key, key.size() >= 0 && key.size() <= 9)",
                        "message": "expected keys of 0 to 9 characters",
                    }
                ],
            },
        },
    }


def test_the_largest_status_of_a_comparison_fits_an_object() -> None:
    # etcd takes 1.5 MiB. Every block has been tried, and every second one is settled.
    blocks = status.MOST_BLOCKS
    largest = status.ComparisonResults(
        settled_blocks=",".join(str(number) for number in range(1, blocks, 2)),
        retries=tuple(
            status.BlockRetries(block=number, attempts=99, spent=99)
            for number in range(1, blocks + 1)
        ),
    )
    assert len(largest.model_dump_json(by_alias=True, exclude_none=True)) < 1_000_000


def test_the_spec_of_each_kind_is_the_model_that_files_are_read_with() -> None:
    specs = {one.kind.kind: one.spec for one in crd.DEFINITIONS}
    assert specs["Campaign"] is CampaignSpec
    assert specs["NodeClass"] is NodeClassSpec
