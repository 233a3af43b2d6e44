"""What an object says under one manager, read from managedFields as the API server writes them."""

from __future__ import annotations

from typing import Any

from equipoise_operator.kube.ownership import owned


def an_object() -> dict[str, Any]:
    """Two writers' halves of a status, as server-side apply leaves them."""
    return {
        "metadata": {
            "name": "c",
            "annotations": {"a/b": "1", "theirs": "2"},
            "managedFields": [
                {
                    "manager": "operator",
                    "operation": "Apply",
                    "subresource": "status",
                    "fieldsV1": {
                        "f:status": {
                            "f:running": {},
                            "f:nodes": {},
                            "f:conditions": {
                                'k:{"type":"Scheduled"}': {
                                    ".": {},
                                    "f:type": {},
                                    "f:status": {},
                                    "f:message": {},
                                }
                            },
                        }
                    },
                },
                {
                    "manager": "validator",
                    "operation": "Apply",
                    "subresource": "status",
                    "fieldsV1": {
                        "f:status": {
                            "f:blocks": {"f:done": {}},
                            "f:conditions": {'k:{"type":"Measured"}': {".": {}, "f:type": {}}},
                        }
                    },
                },
                {
                    "manager": "operator",
                    "operation": "Apply",
                    "fieldsV1": {"f:metadata": {"f:annotations": {"f:a/b": {}}}},
                },
                {
                    "manager": "kubectl",
                    "operation": "Update",
                    "fieldsV1": {"f:metadata": {"f:finalizers": {'v:"one"': {}}}},
                },
            ],
        },
        "status": {
            "running": 2,
            "nodes": ["n1", "n2"],
            "blocks": {"done": 1, "void": 4},
            "conditions": [
                {"type": "Measured", "status": "False"},
                {"type": "Scheduled", "status": "True", "message": "Two run.", "extra": "x"},
            ],
        },
    }


def test_each_writer_s_half_is_told_apart_from_the_other_s() -> None:
    assert owned(an_object(), manager="operator", subresource="status") == {
        "status": {
            "running": 2,
            "nodes": ["n1", "n2"],
            "conditions": [{"type": "Scheduled", "status": "True", "message": "Two run."}],
        }
    }
    assert owned(an_object(), manager="validator", subresource="status") == {
        "status": {"blocks": {"done": 1}, "conditions": [{"type": "Measured"}]}
    }


def test_the_object_itself_is_told_apart_from_its_status() -> None:
    assert owned(an_object(), manager="operator") == {"metadata": {"annotations": {"a/b": "1"}}}
    assert owned(an_object(), manager="validator") == {}


def test_what_was_updated_and_not_applied_is_nobody_s_word() -> None:
    assert owned(an_object(), manager="kubectl") == {}


def test_a_field_that_is_gone_is_left_out() -> None:
    raw = an_object()
    del raw["status"]["running"]
    raw["status"]["conditions"] = []
    assert owned(raw, manager="operator", subresource="status") == {
        "status": {"nodes": ["n1", "n2"], "conditions": []}
    }


def test_items_of_a_set_are_found_by_their_value() -> None:
    raw = {
        "metadata": {
            "managedFields": [
                {
                    "manager": "m",
                    "operation": "Apply",
                    "fieldsV1": {"f:spec": {"f:names": {'v:"b"': {}}}},
                }
            ]
        },
        "spec": {"names": ["a", "b"]},
    }
    assert owned(raw, manager="m") == {"spec": {"names": ["b"]}}
