"""Where the numbers come from: machines, software, environments, and what the walls were.

Called by `page`. Lists every distinct value that the records hold, so that a fact that changed
between blocks shows. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise_operator.report import sentence, words
from equipoise_operator.report.data import ReportData
from equipoise_protocol.block import BlockRecord
from equipoise_protocol.registration import RegisteredClass
from equipoise_protocol.vocabulary import Separation

_SHOWN = 4
"""Distinct values of one fact that are listed; the ledger has the rest."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A node class and what its records say of themselves."""

    node_class: str
    facts: tuple[tuple[str, str], ...]
    fell_back: str


def origins(data: ReportData) -> tuple[Origin, ...]:
    """One origin for each registered class, in registered order."""
    return tuple(
        Origin(
            node_class=registered.name,
            facts=_facts(
                registered,
                tuple(
                    one.record
                    for one in data.records
                    if one.record.identity.node_class == registered.name
                ),
            ),
            fell_back=registered.fell_back,
        )
        for registered in data.registration.classes
    )


def separations(data: ReportData) -> tuple[str, ...]:
    """What each grade of separation that occurs means."""
    grades = {one.record.provenance.separation for one in data.records}
    return tuple(words.SEPARATIONS[grade] for grade in Separation if grade in grades)


def _facts(
    registered: RegisteredClass, records: tuple[BlockRecord, ...]
) -> tuple[tuple[str, str], ...]:
    environment = registered.environment
    applied = (
        f"{sentence.counted(environment.threads, 'thread')}, instructions up to"
        f" {environment.isa_cap.value}"
    )
    facts = [("Environment applied", applied)]
    if not records:
        return tuple(facts)
    machines = [one.provenance.machine for one in records]
    software = [one.provenance.software for one in records]
    effective = [run.effective for one in records for run in one.runs if run.effective]
    walls = [wall for one in records for wall in one.walls]
    facts += [
        ("Read back", _distinct(_read_back(one.isa, one.libraries) for one in effective)),
        ("CPU", _distinct(one.cpu_model for one in machines)),
        ("Instruction sets", _distinct(", ".join(one.cpu_flags) for one in machines)),
        (
            "CPUs",
            _distinct(
                f"{one.logical_cpus} logical, {sentence.counted(one.numa_nodes, 'NUMA node')};"
                f" measured on {', '.join(map(str, one.measuring_cpus))}"
                for one in machines
            ),
        ),
        (
            "Last-level cache and memory",
            _distinct(
                f"{sentence.size(one.last_level_cache_bytes)}, {sentence.size(one.memory_bytes)}"
                for one in machines
            ),
        ),
        (
            "Governor and frequency",
            _distinct(
                f"{one.governor}, {sentence.rate(one.frequency_khz * 1e3, 'Hz')}"
                if one.frequency_khz
                else one.governor
                for one in machines
            ),
        ),
        ("Kernel", _distinct(one.kernel for one in machines)),
        ("Machine", _distinct(one.host for one in machines)),
        ("Node", _distinct(one.provenance.node for one in records)),
        (
            "Software",
            _distinct(
                f"Python {one.python}, torch {one.torch}, numpy {one.numpy}" for one in software
            ),
        ),
        ("Runner", _distinct(one.runner_version for one in software)),
        ("Runner's files", _distinct(one.runner_digest for one in software)),
        (
            "Copy bandwidth",
            _range((one.copy_bytes_per_second for one in walls), unit="B/s"),
        ),
        (
            "Matrix product, float32",
            _range((one.matmul_operations_per_second for one in walls), unit="op/s"),
        ),
        (
            "Separation",
            _distinct(one.provenance.separation.value for one in records),
        ),
    ]
    return tuple((name, value) for name, value in facts if value)


def _read_back(isa: str, libraries: dict[str, str]) -> str:
    listed = ", ".join(f"{name} {value}" for name, value in sorted(libraries.items()))
    return f"ATen {isa}" + (f", {listed}" if listed else "")


def _distinct(values: Iterable[str]) -> str:
    found = list(dict.fromkeys(value for value in values if value))
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def _range(values: Iterable[int], *, unit: str) -> str:
    found = sorted(values)
    if not found:
        return ""
    low, high = sentence.rate(found[0], unit), sentence.rate(found[-1], unit)
    return low if low == high else f"{low} to {high}"
