"""Files that are made from the code: JSON schemas, custom resources, the command line's page.

Run by `make generate`, and by `make lint` and the tests with `--check`, so that what is published
can't drift from what the program does:

    python -m equipoise_operator.generate            write the files anew
    python -m equipoise_operator.generate --check    change nothing; end with 1 where one differs
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
import yaml
from typer.cli import get_docs_for_click

from equipoise_operator.api import crd, roles, rule_table
from equipoise_operator.cli import app as command_line
from equipoise_operator.exit_codes import ExitCode
from equipoise_protocol.spec import Campaign, NodeClass
from equipoise_protocol.verdict import Verdicts
from equipoise_protocol.vocabulary import Model

SCHEMAS: dict[str, type[Model]] = {
    "campaign": Campaign,
    "nodeclass": NodeClass,
    "verdicts": Verdicts,
}

IDENTIFIER = "https://equipoise.dev/schemas/{name}.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

YAML_HEAD = "# Made by `make generate` from the models and rules: change those.\n"

CLI_HEAD = """<!-- Made by `make generate` from the program itself: change that. -->

"""


def generated() -> dict[str, str]:
    """Content of every generated file, by its path from the repository's root. Pure."""
    files = {
        f"docs/schemas/{name}.schema.json": schema(name, model) for name, model in SCHEMAS.items()
    }
    resources = {
        f"crds/{plural}.yaml": as_yaml(definition)
        for plural, definition in crd.definitions().items()
    }
    return {
        **files,
        **resources,
        "crds/roles.yaml": as_yaml(*roles.roles()),
        "docs/rules-of-custom-resources.md": rule_table.page(),
        "docs/cli.md": command_page(),
    }


def as_yaml(*documents: dict[str, Any]) -> str:
    """Objects of the API server as a file that `kubectl apply` takes. Pure."""
    return YAML_HEAD + yaml.safe_dump_all(documents, sort_keys=False, width=100, allow_unicode=True)


def schema(name: str, model: type[Model]) -> str:
    """The JSON schema of a model, with the address that it is known by. Pure."""
    # What is written always holds every field; what is read may leave out those with defaults.
    mode: Literal["serialization", "validation"] = (
        "serialization" if model is Verdicts else "validation"
    )
    described = model.model_json_schema(by_alias=True, mode=mode)
    identified = {
        "$schema": DIALECT,
        "$id": IDENTIFIER.format(name=name),
        **described,
    }
    return json.dumps(identified, indent=2, ensure_ascii=False) + "\n"


def command_page() -> str:
    """The page of the command line, in Markdown. Pure."""
    group = typer.main.get_command(command_line)
    context = typer.Context(group, info_name="equipoise", help_option_names=["-h", "--help"])
    page = get_docs_for_click(obj=group, ctx=context, name="equipoise")
    # Usage lines are no commands to run, and fenced blocks of `console` are (tests/docs).
    page = page.replace("```console\n$ ", "```text\n")
    lines = [line.rstrip() for line in page.splitlines()]
    codes = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    table = "\n".join(["## Exit codes", "", "| Code | Meaning |", "|---:|---|", *codes])
    return CLI_HEAD + "\n".join(lines).strip() + "\n\n" + table + "\n"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    *,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; compare.")] = False,
    root: Annotated[Path, typer.Option(help="The repository.")] = Path(),
) -> None:
    """Write the generated files, or see that they are as they should be."""
    files = generated()
    if not check:
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding="utf-8")
        return
    differing = [path for path, content in files.items() if _found(root / path) != content]
    if differing:
        sys.stderr.write(
            f"{', '.join(differing)}: not what the code says; expected the output of"
            " `make generate`. Run it and commit the result.\n"
        )
        raise typer.Exit(ExitCode.ERROR)


def _found(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    app()
