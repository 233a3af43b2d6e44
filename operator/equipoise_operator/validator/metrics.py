"""Figures of the validator for Prometheus. Labels are short, fixed lists: no object's name.

Made once by `main`, told by `look`.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from equipoise_operator.validating.intake import Taken
from equipoise_protocol.ledger.bodies import LostCause

PREFIX: Final = "equipoise_validator"


class ValidatorMetrics:
    """Everything that the validator counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._records = Counter(
            f"{PREFIX}_records_total",
            "Objects taken in from the bucket, by what became of them.",
            ("outcome",),
            registry=registry,
        )
        self._findings = Counter(
            f"{PREFIX}_findings_total",
            "Findings about them, by rule and severity.",
            ("rule", "severity"),
            registry=registry,
        )
        self._lost = Counter(
            f"{PREFIX}_attempts_lost_total",
            "Attempts that left no record, by cause.",
            ("cause",),
            registry=registry,
        )
        self._lag = Histogram(
            f"{PREFIX}_intake_lag_seconds",
            "From an object's arrival in the bucket to its entry in the ledger.",
            registry=registry,
            buckets=(0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900),
        )
        self._secrets = Counter(
            f"{PREFIX}_attempt_secrets_total",
            "Attempts' Secrets, by what became of them.",
            ("outcome",),
            registry=registry,
        )
        self._registrations = Counter(
            f"{PREFIX}_registrations_total",
            "Looks at unregistered campaigns, by what became of them.",
            ("outcome",),
            registry=registry,
        )
        self._looks = Counter(
            f"{PREFIX}_verdicts_total", "Verdicts written.", ("verdict",), registry=registry
        )
        self._open = Gauge(
            f"{PREFIX}_open_attempts",
            "Attempts planned and not ended, of all campaigns.",
            registry=registry,
        )
        self._campaigns = Gauge(
            f"{PREFIX}_open_campaigns", "Registered campaigns that go on.", registry=registry
        )
        self._unplanned = Gauge(
            f"{PREFIX}_unplanned_objects",
            "Objects in the bucket that no attempt was planned for.",
            registry=registry,
        )

    def took_in(self, taken: Taken, *, lag: float | None) -> None:
        """An object was taken in."""
        self._records.labels(taken.outcome.value).inc()
        for finding in taken.findings:
            self._findings.labels(finding.rule, finding.severity.value).inc()
        if lag is not None:
            self._lag.observe(max(0.0, lag))

    def lost(self, cause: LostCause) -> None:
        """An attempt was recorded as lost."""
        self._lost.labels(cause.value).inc()

    def minted(self, outcome: str) -> None:
        """A Secret was made, was there already, or was refused."""
        self._secrets.labels(outcome).inc()

    def registered(self, outcome: str) -> None:
        """A campaign was registered or refused."""
        self._registrations.labels(outcome).inc()

    def judged(self, verdict: str) -> None:
        """A verdict was written."""
        self._looks.labels(verdict).inc()

    def stands(self, *, campaigns: int, attempts: int) -> None:
        """How much is open."""
        self._campaigns.set(campaigns)
        self._open.set(attempts)

    def unplanned(self, count: int) -> None:
        """How many objects in the bucket nobody planned."""
        self._unplanned.set(count)
