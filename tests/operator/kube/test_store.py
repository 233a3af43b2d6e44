"""The store: resourceVersions decide, never the order of arrival (T2, T20, T23)."""

from __future__ import annotations

from equipoise_operator.kube.projection import Change, Event, Seen, fields, is_newer
from equipoise_operator.kube.store import Store


def pod(name: str, version: int | str, value: str = "", *, uid: str = "") -> Seen[str]:
    return Seen("ns", name, uid or f"uid-{name}", str(version), value)


def told(events: list[Event[str]]) -> list[tuple[str, str, str]]:
    return [(event.change.value, event.seen.uid, event.seen.value) for event in events]


def listed(*items: Seen[str], version: int = 10) -> Store[str]:
    store: Store[str] = Store()
    store.replace(items, version=str(version))
    return store


def test_an_older_event_after_a_newer_one_is_passed_over() -> None:
    store = listed(pod("a", 5, "first"))
    assert told(store.put(pod("a", 12, "second"))) == [("MODIFIED", "uid-a", "second")]
    assert store.put(pod("a", 11, "stale")) == []
    found = store.get("ns", "a")
    assert found is not None
    assert found.value == "second"


def test_versions_are_compared_as_numbers_not_as_text() -> None:
    store = listed(pod("a", 9, "nine"))
    assert told(store.put(pod("a", 100, "hundred"))) == [("MODIFIED", "uid-a", "hundred")]
    assert is_newer("100", "99")
    assert not is_newer("99", "100")


def test_a_newer_object_written_back_locally_outlives_the_older_watch_event() -> None:
    store = listed(pod("a", 5, "old"))
    assert told(store.observe(pod("a", 20, "ours"))) == [("MODIFIED", "uid-a", "ours")]
    assert store.put(pod("a", 15, "between")) == []
    assert store.put(pod("a", 20, "ours")) == []
    found = store.get("ns", "a")
    assert found is not None
    assert found.value == "ours"


def test_the_late_answer_to_a_write_does_not_bring_a_deleted_object_back() -> None:
    store = listed()
    store.put(pod("a", 11, "created"))
    assert told(store.remove(pod("a", 13, "at last"))) == [("DELETED", "uid-a", "at last")]
    assert store.observe(pod("a", 11, "created")) == []
    assert len(store) == 0


def test_nothing_is_observed_before_the_first_list() -> None:
    store: Store[str] = Store()
    assert store.observe(pod("a", 5)) == []
    assert len(store) == 0


def test_a_list_after_a_gap_reports_what_vanished_in_it() -> None:
    store = listed(pod("stays", 1), pod("vanishes", 2), pod("changes", 3, "before"))
    events = store.replace(
        [pod("stays", 1), pod("changes", 18, "after"), pod("new", 19)], version="20"
    )
    assert told(events) == [
        ("DELETED", "uid-vanishes", ""),
        ("MODIFIED", "uid-changes", "after"),
        ("ADDED", "uid-new", ""),
    ]
    assert [one.name for one in store] == ["changes", "new", "stays"]


def test_what_was_written_after_a_list_was_taken_is_not_reported_as_vanished() -> None:
    store = listed()
    store.observe(pod("ours", 25))
    assert store.replace([], version="20") == []
    assert store.get("ns", "ours") is not None
    assert told(store.replace([], version="30")) == [("DELETED", "uid-ours", "")]


def test_another_uid_under_a_known_name_is_another_object() -> None:
    store = listed(pod("a", 5, "first", uid="one"))
    events = store.put(pod("a", 15, "second", uid="two"))
    assert told(events) == [("DELETED", "one", "first"), ("ADDED", "two", "second")]
    assert store.by_uid("one") is None
    found = store.by_uid("two")
    assert found is not None
    assert found.value == "second"


def test_another_uid_in_a_list_is_another_object_too() -> None:
    store = listed(pod("a", 5, uid="one"))
    events = store.replace([pod("a", 15, uid="two")], version="20")
    assert [(event.change, event.seen.uid) for event in events] == [
        (Change.DELETED, "one"),
        (Change.ADDED, "two"),
    ]


def test_the_end_of_an_object_does_not_take_its_successor_along() -> None:
    store = listed(pod("a", 5, uid="one"))
    store.observe(pod("a", 15, uid="two"))
    assert store.remove(pod("a", 14, uid="one")) == []
    assert store.by_uid("two") is not None


def test_a_change_of_what_is_not_read_is_no_event() -> None:
    store = listed(pod("a", 5, "same"))
    assert store.put(pod("a", 15, "same")) == []
    found = store.get("ns", "a")
    assert found is not None
    assert found.resource_version == "15"


def test_a_bookmark_moves_the_point_from_where_a_watch_goes_on() -> None:
    store = listed(version=10)
    store.bookmark("40")
    assert store.horizon == "40"
    store.bookmark("30")
    assert store.horizon == "40"


def test_a_server_restored_from_a_backup_is_believed() -> None:
    store = listed(pod("a", 90, "later"), pod("lost", 95), version=100)
    events = store.replace([pod("a", 40, "earlier")], version="50")
    assert told(events) == [("DELETED", "uid-lost", ""), ("MODIFIED", "uid-a", "earlier")]
    assert told(store.put(pod("a", 51, "goes on"))) == [("MODIFIED", "uid-a", "goes on")]


def test_versions_that_are_no_numbers_still_tell_changes_apart() -> None:
    store: Store[str] = Store()
    store.replace([pod("a", "x1", "one")], version="x9")
    assert told(store.put(pod("a", "x10", "two"))) == [("MODIFIED", "uid-a", "two")]


def test_a_projection_keeps_the_named_fields_and_nothing_else() -> None:
    project = fields(
        "metadata.labels", "spec.nodeName", "status.items[].name", "status.items[].state", "none.x"
    )
    raw = {
        "metadata": {"labels": {"a.b/c": "d"}, "annotations": {"big": "x"}},
        "spec": {"nodeName": "n1", "containers": [{"image": "x"}]},
        "status": {"items": [{"name": "one", "state": {"up": 1}, "id": 3}, {"name": "two"}]},
    }
    assert project(raw) == {
        "metadata": {"labels": {"a.b/c": "d"}},
        "spec": {"nodeName": "n1"},
        "status": {"items": [{"name": "one", "state": {"up": 1}}, {"name": "two"}]},
    }
