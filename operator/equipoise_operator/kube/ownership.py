"""What an object says under one field manager, read back from its `managedFields`. Pure.

Called by the writer, which compares it with what it is about to apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_SELF: Final = "."


def owned(whole: Mapping[str, Any], *, manager: str, subresource: str = "") -> dict[str, Any]:
    """The part of an object that a manager has applied; empty where it has applied nothing.

    Args:
        whole: the object as the API server gives it.
        manager: name of the field manager.
        subresource: `status`, or empty for the object itself.
    """
    for entry in whole.get("metadata", {}).get("managedFields") or ():
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and entry.get("subresource", "") == subresource
        ):
            part = _part(whole, entry.get("fieldsV1") or {})
            return part if isinstance(part, dict) else {}
    return {}


def _part(value: Any, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """The part of a JSON value that a set of fields (structured-merge-diff's form) names."""
    inner = {key: below for key, below in fields.items() if key != _SELF}
    if not inner:
        return value
    if isinstance(value, Mapping):
        return {
            key[2:]: _part(value[key[2:]], below)
            for key, below in inner.items()
            if key.startswith("f:") and key[2:] in value
        }
    if isinstance(value, list):
        return [
            _part(item, below)
            for item in value
            for key, below in inner.items()
            if _is_item(item, key)
        ]
    return value


def _is_item(item: Any, key: str) -> bool:  # noqa: ANN401 - JSON
    """Whether a list's item is the one that a `k:` (by keys) or `v:` (by value) names."""
    kind, _, text = key.partition(":")
    if kind == "v":
        return bool(item == json.loads(text))
    return (
        kind == "k"
        and isinstance(item, Mapping)
        and all(item.get(name) == value for name, value in json.loads(text).items())
    )
