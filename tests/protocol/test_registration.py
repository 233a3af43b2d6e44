"""R01, R02, R03, R08: what is frozen, and that nothing can be missing or change."""

from __future__ import annotations

import hashlib

import pytest
from pydantic import ValidationError

from builders import (
    PROTOCOL,
    SECRET,
    a_registered_class,
    a_registration,
    a_spec,
    contents_of,
)
from equipoise_protocol.canonical import digest_of_bytes
from equipoise_protocol.errors import ProtocolError
from equipoise_protocol.registration import (
    commitment,
    freeze,
    registration_digest,
    sources_of,
)


def test_the_commitment_is_the_secrets_sha256() -> None:
    assert commitment(SECRET) == "sha256:" + hashlib.sha256(b"\x5e" * 32).hexdigest()
    assert a_registration().secret_commitment == commitment(SECRET)
    assert SECRET not in a_registration().model_dump_json()


def test_every_source_is_pinned_by_its_digest() -> None:
    spec = a_spec()
    pinned = {(one.comparison, one.arm): one.digest for one in a_registration(spec).sources}
    assert pinned == {
        key: digest_of_bytes(text.encode()) for key, text in contents_of(spec).items()
    }
    assert [key[:2] for key in sources_of(spec)] == [
        ("gelu", ""),
        ("gelu", "by-hand"),
        ("gelu", "candidate"),
    ]


def test_suspend_and_abort_are_no_part_of_what_is_frozen() -> None:
    plain = registration_digest(a_registration(a_spec()))
    assert registration_digest(a_registration(a_spec(suspend=True, abort=True))) == plain


def test_anything_else_that_differs_gives_another_digest() -> None:
    digests = {
        registration_digest(a_registration()),
        registration_digest(a_registration(a_spec(question="Another one?"))),
        registration_digest(a_registration(protocol=("0.1.0", "sha256:" + "b" * 64))),
        registration_digest(a_registration(campaign="other")),
        registration_digest(a_registration(registered_at="2026-12-01T12:00:01Z")),
    }
    assert len(digests) == 5


def test_a_missing_class_or_source_is_named() -> None:
    spec = a_spec(node_classes=("cpu", "other"))
    with pytest.raises(ProtocolError, match=r"\['other'\].*\('gelu', 'candidate'\)"):
        freeze(
            "c",
            spec,
            classes=(a_registered_class("cpu"),),
            contents={("gelu", ""): "x", ("gelu", "by-hand"): "y"},
            protocol=PROTOCOL,
            secret=SECRET,
            registered_at="2026-12-01T12:00:00Z",
        )


def test_classes_stand_in_the_order_of_the_spec() -> None:
    spec = a_spec(node_classes=("b", "a"))
    registration = a_registration(spec, classes=tuple(map(a_registered_class, ("a", "b"))))
    assert [one.name for one in registration.classes] == ["b", "a"]


def test_a_registration_can_t_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        a_registration().campaign = "other"  # type: ignore[misc]


def test_what_is_registered_is_found_by_its_name_and_nothing_else_is() -> None:
    registration = a_registration()
    assert registration.comparison_named("gelu").name == "gelu"
    assert registration.class_named("cpu").name == "cpu"
    with pytest.raises(LookupError, match="registers no comparison 'gelo'"):
        registration.comparison_named("gelo")
    with pytest.raises(LookupError, match="registers no node class 'gpu'"):
        registration.class_named("gpu")
