"""What becomes of an event: new, joined to its series, only counted, or dropped."""

from __future__ import annotations

from dataclasses import replace

from equipoise_operator.kube.events import (
    OBJECT_BURST,
    OBJECT_RATE,
    REFRESH_SECONDS,
    SERIES_SECONDS,
    Correlator,
    Said,
    Subject,
)

SUBJECT = Subject("equipoise.dev/v1alpha1", "Campaign", "ns", "gelu", "uid-1")
SAID = Said(SUBJECT, "Normal", "NodesBusy", "Schedule", "All nodes measure. Wait.")


def test_the_first_is_new_and_the_next_ones_are_counted_until_a_refresh_is_due() -> None:
    correlator = Correlator()
    first = correlator.take(SAID, now=0)
    assert first is not None
    assert first.count == 1
    assert correlator.take(SAID, now=1) is None
    assert correlator.take(SAID, now=REFRESH_SECONDS - 1) is None
    series = correlator.take(SAID, now=REFRESH_SECONDS)
    assert series is not None
    assert (series.name, series.count) == (first.name, 4)


def test_a_series_ends_when_nothing_was_said_for_ten_minutes() -> None:
    correlator = Correlator()
    first = correlator.take(SAID, now=0)
    assert correlator.take(SAID, now=SERIES_SECONDS - 1) is not None
    still = correlator.take(SAID, now=2 * SERIES_SECONDS - 2)
    anew = correlator.take(SAID, now=3 * SERIES_SECONDS)
    assert first is not None
    assert still is not None
    assert anew is not None
    assert still.name == first.name
    assert (anew.name != first.name, anew.count) == (True, 1)


def test_another_note_reason_or_object_is_another_series() -> None:
    correlator = Correlator()
    others = [
        SAID,
        replace(SAID, note="One node is free."),
        replace(SAID, reason="NoNode"),
        replace(SAID, type="Warning"),
        replace(SAID, subject=replace(SUBJECT, uid="uid-2")),
    ]
    names = {series.name for said in others if (series := correlator.take(said, now=0))}
    assert len(names) == len(others)


def test_one_object_s_flood_is_bounded_and_takes_nothing_from_another_object() -> None:
    correlator = Correlator()
    notes = [replace(SAID, note=f"Number {number}.") for number in range(100)]
    assert sum(correlator.take(said, now=0) is not None for said in notes) == OBJECT_BURST
    other = replace(SAID, subject=replace(SUBJECT, uid="uid-2"))
    assert correlator.take(other, now=0) is not None
    # One more comes back in a minute.
    late = [replace(said, action="Later") for said in notes]
    again = [said for said in late if correlator.take(said, now=1 / OBJECT_RATE + 1)]
    assert len(again) == 1


def test_a_forgotten_event_is_new_again() -> None:
    correlator = Correlator()
    assert correlator.take(SAID, now=0) is not None
    correlator.forget(SAID)
    again = correlator.take(SAID, now=1)
    assert again is not None
    assert again.count == 1


def test_the_name_of_an_event_of_a_long_name_is_a_name() -> None:
    long = replace(SAID, subject=replace(SUBJECT, name="a" * 199 + "." + "b" * 50))
    series = Correlator().take(long, now=0)
    assert series is not None
    assert len(series.name) <= 253
    assert ".." not in series.name
