"""A campaign frozen for the machines that measure it, and how it differs from one frozen before.

Called by whoever registers a campaign, and by the pilot. Pure: what the machines can do comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from equipoise_operator.campaign.capability import Capability, registered_class
from equipoise_operator.errors import UsageError
from equipoise_protocol.lint import CampaignFile
from equipoise_protocol.registration import RegisteredClass, Registration, freeze

MOST_DIFFERENCES = 12
"""Listed in a message; the rest is counted."""


def frozen(  # noqa: PLR0913 - everything that is frozen, each by its name
    parsed: CampaignFile,
    contents: Mapping[tuple[str, str], str],
    *,
    capability_of: Callable[[str], Capability],
    protocol: tuple[str, str],
    secret: str,
    registered_at: str,
    campaign_uid: str = "",
) -> Registration:
    """The registration of a campaign on the machines that will measure it.

    Args:
        parsed: the campaign and its node classes.
        contents: text of each source by (comparison, arm or empty for the problem).
        capability_of: what the machines of a class can do, by its name; decides about fallbacks.
        protocol: version and digest of the installed protocol.
        secret: 32 bytes in hexadecimal.
        registered_at: UTC, RFC 3339.
        campaign_uid: of the campaign's object on a cluster; empty on one machine.

    Raises:
        UsageError: a machine is not of its class, which has no fallback; names them all.
    """
    campaign = parsed.campaign
    return freeze(
        campaign.metadata.name,
        campaign.spec,
        classes=_classes(parsed, capability_of),
        contents=dict(contents),
        protocol=protocol,
        secret=secret,
        registered_at=registered_at,
        campaign_uid=campaign_uid,
    )


def differences(registered: Registration, wanted: Registration) -> tuple[str, ...]:
    """Where two registrations differ, as `path: registered X, now Y` (R02). Pure.

    Time and secret are left out: they are drawn anew whenever a campaign is frozen.
    """
    drawn = {"registeredAt", "secretCommitment"}
    before, after = (
        {
            key: value
            for key, value in one.model_dump(mode="json", by_alias=True).items()
            if key not in drawn
        }
        for one in (registered, wanted)
    )
    return tuple(_differing("", before, after))


def listed(found: tuple[str, ...]) -> str:
    """Differences for a message, cut after the first few. Pure."""
    more = len(found) - MOST_DIFFERENCES
    shown = "; ".join(found[:MOST_DIFFERENCES])
    return f"{shown}; and {more} more" if more > 0 else shown


def _classes(
    parsed: CampaignFile, capability_of: Callable[[str], Capability]
) -> tuple[RegisteredClass, ...]:
    by_name = {one.metadata.name: one for one in parsed.node_classes}
    classes: list[RegisteredClass] = []
    unmet: list[str] = []
    for name in parsed.campaign.spec.node_classes:
        try:
            classes.append(registered_class(by_name[name], capability_of(name)))
        except UsageError as error:
            unmet.append(str(error))
    if unmet:
        raise UsageError("\n".join(unmet))
    return tuple(classes)


def _differing(path: str, before: object, after: object) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            below = f"{path}.{key}" if path else str(key)
            yield from _differing(below, before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differing(f"{path}[{index}]", one, other)
    elif before != after:
        yield f"{path}: registered {_short(before)}, now {_short(after)}"


def _short(value: object) -> str:
    length = 72
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."
