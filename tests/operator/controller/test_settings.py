"""What the operator's environment may say, and what is said of it where it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise_operator.controller import settings
from equipoise_operator.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "operator.md"
IMAGE = {"EQUIPOISE_OPERATOR_RUNNER_IMAGE": "registry.example/equipoise-runner:1"}


def test_an_image_is_enough() -> None:
    found = settings.read({**IMAGE, "PATH": "/bin", "EQUIPOISE_VALIDATOR_BUCKET": "b"})
    assert found.runner_image == "registry.example/equipoise-runner:1"
    assert found.namespace == "equipoise-system"


def test_lists_are_given_with_commas() -> None:
    found = settings.read(
        {
            **IMAGE,
            "EQUIPOISE_OPERATOR_STORE_CIDRS": "10.0.0.0/8, fd00::/8",
            "EQUIPOISE_OPERATOR_STORE_PORTS": "443,9000",
            "EQUIPOISE_OPERATOR_RUNNER_IMAGE_PULL_SECRETS": "one",
        }
    )
    assert found.store_cidrs == ("10.0.0.0/8", "fd00::/8")
    assert found.store_ports == (443, 9000)
    assert found.runner_image_pull_secrets == ("one",)


def test_an_empty_variable_is_one_that_is_not_given() -> None:
    assert settings.read({**IMAGE, "EQUIPOISE_OPERATOR_WORKERS": " "}).workers == 4


def test_all_faults_are_told_at_once_with_the_variables_name() -> None:
    with pytest.raises(UsageError) as caught:
        settings.read(
            {
                "EQUIPOISE_OPERATOR_BENCH_MEMORY": "lots",
                "EQUIPOISE_OPERATOR_LEASE_SECONDS": "1",
                "EQUIPOISE_OPERATOR_COLOUR": "green",
            }
        )
    lines = str(caught.value).splitlines()[1:]
    named = [line.removeprefix("- ").split()[0].rstrip(":") for line in lines]
    assert sorted(named) == [
        "EQUIPOISE_OPERATOR_BENCH_MEMORY",
        "EQUIPOISE_OPERATOR_COLOUR",
        "EQUIPOISE_OPERATOR_LEASE_SECONDS",
        "EQUIPOISE_OPERATOR_RUNNER_IMAGE",
    ]
    assert "got 'lots'" in str(caught.value)


def test_the_page_names_every_variable_with_its_default_and_what_it_is() -> None:
    lines = PAGE.read_text().splitlines()
    named = [line for line in lines if line.startswith(f"| `{settings.PREFIX}")]
    expected = []
    for name, field in settings.Settings.model_fields.items():
        default = "required" if field.is_required() else field.default
        if isinstance(default, tuple):
            default = ", ".join(str(one) for one in default)
        described = " ".join((field.description or "").split())
        variable = f"`{settings.PREFIX}{name.upper()}`"
        expected.append(f"| {variable} | {default if default != '' else 'none'} | {described} |")
    assert named == expected
