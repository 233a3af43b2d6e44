"""What the validator's process is told by its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise_operator.errors import UsageError
from equipoise_operator.validator import settings

PAGE = Path(__file__).parents[3] / "docs" / "validator.md"
LEAST = {
    "EQUIPOISE_VALIDATOR_BUCKET": "records",
    "EQUIPOISE_VALIDATOR_LEDGER": "/var/lib/equipoise/ledger.sqlite3",
    "EQUIPOISE_VALIDATOR_RUNNER_IMAGES": "registry.example/runner@sha256:" + "a" * 64,
}


def test_three_variables_are_enough() -> None:
    found = settings.read(LEAST)
    assert found.store.name == "records"
    assert found.ledger == Path("/var/lib/equipoise/ledger.sqlite3")
    assert found.namespace == "equipoise-system"
    assert found.largest_record_bytes == 256 << 20
    assert found.http == ("0.0.0.0", 8080)  # noqa: S104 - a pod's


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(UsageError) as fault:
        settings.read(
            {
                "EQUIPOISE_VALIDATOR_LEDGER": "ledger.sqlite3",
                "EQUIPOISE_VALIDATOR_BUCKET_ENDPOINT": "minio:9000",
                "EQUIPOISE_VALIDATOR_POLL_SECONDS": "often",
                "EQUIPOISE_VALIDATOR_HTTP_ADDRESS": "8080",
                "EQUIPOISE_VALIDATOR_COLOUR": "green",
            }
        )
    lines = str(fault.value).splitlines()
    assert len(lines) == 8
    expected = (
        "BUCKET is missing",
        "RUNNER_IMAGES is missing",
        "LEDGER: got",
        "HTTP_ADDRESS: got",
        "COLOUR is unknown",
    )
    for name in expected:
        assert sum(f"EQUIPOISE_VALIDATOR_{name}" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BUCKET_ENDPOINT", "ftp://store"),
        ("BUCKET_ENDPOINT", "http://user:word@store"),
        ("BUCKET_PUBLIC_ENDPOINT", "http://store:port"),
        ("URL_SECONDS", "59"),
        ("URL_SECONDS", "604801"),
        ("LARGEST_RECORD_BYTES", "1e9"),
        ("POLL_SECONDS", "0"),
        ("POLL_SECONDS", "nan"),
        ("HTTP_ADDRESS", ":99999"),
        ("RUNNER_IMAGES", ","),
        ("RUNNER_IMAGES", "one two"),
    ],
)
def test_a_value_that_can_not_be_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"EQUIPOISE_VALIDATOR_{name}: got"):
        settings.read(LEAST | {f"EQUIPOISE_VALIDATOR_{name}": value})


def test_several_images_may_measure_while_one_replaces_another() -> None:
    found = settings.read(LEAST | {"EQUIPOISE_VALIDATOR_RUNNER_IMAGES": "a:1, b:2"})
    assert found.runner_images == {"a:1", "b:2"}


def test_the_page_names_every_variable_with_its_default_and_what_it_is() -> None:
    lines = PAGE.read_text().splitlines()
    named = [line for line in lines if line.startswith(f"| `{settings.PREFIX}")]
    expected = []
    for name, field in settings.Settings.model_fields.items():
        default = "required" if field.is_required() else field.default
        described = " ".join((field.description or "").split())
        variable = f"`{settings.PREFIX}{name.upper()}`"
        expected.append(f"| {variable} | {default if default != '' else 'none'} | {described} |")
    assert named == expected
