"""The page of rules across fields: where each is refused in a cluster, and why not earlier.

Called by `generate`. Pure.
"""

from __future__ import annotations

from pydantic import BaseModel

from equipoise_operator.api import crd
from equipoise_operator.api.rules import ELSEWHERE, Rule

HEAD = """<!-- Made by `make generate` from the operator's api/rules.py: change that. -->

# Rules of the custom resources

What a single field may hold stands in its schema: `kubectl explain campaign.spec --recursive`. This
page lists the rules across fields. Each is refused in one of these places:

- **schema**: by the type of a list, a bound or a required field, when an object is applied.
- **CEL**: by an expression in the schema, when an object is applied. `kubectl apply` prints every
  such fault at once, with its field, what was found, what was expected and what to do, in the words
  of `equipoise lint`.
- **condition Registered=False**: by the validator, before it registers a campaign. The message of
  the condition lists every fault at once: `kubectl describe campaign NAME`.
- **API server**: by what it is.

There is no webhook, so that nothing of ours has to run for an object to be refused.

A field that is given as `null` counts as absent. Fields with a default are filled in when an object
is applied, with the same values that a local run takes, so that both freeze to the same
registration.

| Rule | Refused by | Kind, field | Known to lint as | What it says, or why it isn't CEL |
|---|---|---|---|---|
"""


def page() -> str:
    """The page in Markdown. Pure."""
    # Rules that say the same of several fields share a row.
    fields: dict[tuple[str, str, str, str], list[str]] = {}
    for kind, rule in crd.all_rules():
        row = (rule.name, kind, rule.lint, crd.plain_message(rule))
        fields.setdefault(row, []).append(_field(rule))
    rows = [
        _cells(
            name,
            "CEL",
            f"{kind}: {', '.join(f'`{one}`' for one in where)}",
            f"`{lint}`" if lint else "about objects of a cluster",
            said,
        )
        for (name, kind, lint, said), where in fields.items()
    ]
    rows += [_cells(one.name, one.home.value, "", f"`{one.lint}`", one.why) for one in ELSEWHERE]
    return HEAD + "\n".join(rows) + "\n"


def _field(rule: Rule) -> str:
    """The field at fault, after the model that the rule is about."""
    return f"{rule.model.__name__}{rule.field}" if rule.model is not BaseModel else rule.field[1:]


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
