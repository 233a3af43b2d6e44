"""What is known of our own objects never goes back in time, and no ghost stays (T2, T20, T23)."""

from __future__ import annotations

from typing import Any

from equipoise_operator.controller.own_kinds import OwnKind


def an_object(name: str, uid: str, version: int, text: str = "") -> dict[str, Any]:
    metadata = {"namespace": "lab", "name": name, "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, "text": text}


def kind() -> OwnKind[str]:
    return OwnKind(lambda raw: str(raw["text"]))


def test_an_older_version_after_a_newer_one_is_passed_over() -> None:
    known = kind()
    assert known.take(an_object("a", "u1", 5, "new")) is not None
    assert known.take(an_object("a", "u1", 4, "old")) is None
    assert known.take(an_object("a", "u1", 5, "new")) is None
    found = known.by_uid("u1")
    assert found is not None
    assert found.value == "new"


def test_a_late_event_does_not_bring_a_deleted_object_back() -> None:
    known = kind()
    known.take(an_object("a", "u1", 5))
    assert known.remove("u1") is not None
    assert known.take(an_object("a", "u1", 6)) is None
    assert known.by_uid("u1") is None
    assert known.remove("u1") is None


def test_of_two_objects_of_one_name_the_newer_one_has_it_in_whatever_order_they_come() -> None:
    known = kind()
    known.take(an_object("a", "u2", 9))
    known.take(an_object("a", "u1", 5))
    found = known.by_name("lab", "a")
    assert found is not None
    assert found.uid == "u2"
    known.remove("u1")
    assert known.by_name("lab", "a") is not None
    known.remove("u2")
    assert known.by_name("lab", "a") is None


def test_a_list_tells_what_a_watch_has_not() -> None:
    known = kind()
    known.take(an_object("same", "u1", 5))
    known.take(an_object("changed", "u2", 6))
    known.take(an_object("gone", "u3", 7))
    known.take(an_object("later", "u4", 21))
    known.take(an_object("deleted", "u5", 8))
    known.remove("u5")
    listed = [("u1", "5"), ("u2", "19"), ("u6", "18"), ("u5", "8")]
    behind, ghosts = known.missed(listed, version="20")
    assert behind == {("u2", "19"), ("u6", "18")}
    assert ghosts == ("u3",)
