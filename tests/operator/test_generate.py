"""Generated files are what the code says."""

from __future__ import annotations

import json
from pathlib import Path

import fastjsonschema
import pytest
import yaml
from typer.testing import CliRunner

from builders import a_ratio, a_registration, a_verdict
from campaign_files import a_campaign_document, a_node_class_document
from equipoise_operator import generate
from equipoise_protocol.registration import registration_digest
from equipoise_protocol.verdict import Verdicts

ROOT = Path(__file__).parents[2]


def test_the_published_files_are_up_to_date() -> None:
    for path, content in generate.generated().items():
        found = (ROOT / path).read_text(encoding="utf-8")
        assert found == content, f"{path}: run `make generate`"


def test_check_tells_a_difference_and_changes_nothing(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(generate.app, ["--root", str(tmp_path)]).exit_code == 0
    assert runner.invoke(generate.app, ["--root", str(tmp_path), "--check"]).exit_code == 0
    page = tmp_path / "docs" / "cli.md"
    page.write_text("something else")
    assert runner.invoke(generate.app, ["--root", str(tmp_path), "--check"]).exit_code == 1
    assert page.read_text() == "something else"


@pytest.mark.parametrize("name", ["campaign", "nodeclass", "verdicts"])
def test_every_schema_has_its_address_and_a_description_on_each_field(name: str) -> None:
    schema = json.loads(generate.generated()[f"docs/schemas/{name}.schema.json"])
    assert schema["$id"] == f"https://equipoise.dev/schemas/{name}.schema.json"
    properties = [
        (model["title"], field, described)
        for model in (schema, *schema["$defs"].values())
        for field, described in model.get("properties", {}).items()
    ]
    assert properties
    if name != "verdicts":
        # A field that says just what its model says is described there.
        assert [one[:2] for one in properties if not {"description", "$ref"} & set(one[2])] == []


def test_the_schemas_accept_what_the_models_accept_and_refuse_what_they_refuse() -> None:
    validate = {
        name: fastjsonschema.compile(json.loads(generate.schema(name, model)))
        for name, model in generate.SCHEMAS.items()
    }
    validate["campaign"](a_campaign_document())
    validate["nodeclass"](a_node_class_document())
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate["campaign"](a_campaign_document(blocks=0))
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate["nodeclass"]({**a_node_class_document(), "colour": "blue"})
    verdicts = Verdicts(
        campaign="small",
        question="Is it faster?",
        registration_digest=registration_digest(a_registration()),
        protocol_version="0.1.0",
        protocol_digest="sha256:" + "a1" * 32,
        complete=True,
        verdicts=(a_verdict(honest_ratio=a_ratio()),),
        portability=(),
    )
    validate["verdicts"](verdicts.model_dump(mode="json", by_alias=True))


def test_every_example_satisfies_the_published_schemas() -> None:
    validate = {
        "Campaign": fastjsonschema.compile(json.loads(generate.generated()[CAMPAIGN])),
        "NodeClass": fastjsonschema.compile(json.loads(generate.generated()[NODE_CLASS])),
    }
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    assert examples
    for example in examples:
        for document in yaml.safe_load_all(example.read_text(encoding="utf-8")):
            if document["kind"] in validate:
                validate[document["kind"]](document)


CAMPAIGN = "docs/schemas/campaign.schema.json"
NODE_CLASS = "docs/schemas/nodeclass.schema.json"
