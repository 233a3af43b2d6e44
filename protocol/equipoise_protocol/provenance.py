"""Facts that say where a block record comes from, and which of them must not differ.

Filled in by the runner (`environment`, `sensors`), read by validation. Pure data.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise_protocol.vocabulary import Digest, IsaCap, Model, Separation

Fact = Annotated[str, Field(max_length=400)]


class Environment(Model):
    """What a node class makes the runner apply to every arm, and the runner reads back."""

    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads that an arm may compute with; the arm is pinned to as many CPUs."""
    isa_cap: IsaCap = IsaCap.NATIVE
    """Widest vector instructions for every library that dispatches by instruction set."""


class Machine(Model):
    """What the collector saw of the machine: the fingerprint of a block (R18)."""

    host: Fact
    """SHA-256 of the machine's id, shortened: tells machines apart, names none."""
    cpu_model: Fact
    cpu_flags: Annotated[tuple[Fact, ...], Field(max_length=64)] = ()
    """The vector instruction sets that the CPU has, of those that matter here."""
    logical_cpus: Annotated[int, Field(ge=1)]
    numa_nodes: Annotated[int, Field(ge=1)]
    last_level_cache_bytes: Annotated[int, Field(ge=0)]
    memory_bytes: Annotated[int, Field(ge=0)]
    governor: Fact
    """cpufreq's governor of the measuring CPU, or `unreadable`."""
    frequency_khz: Annotated[int, Field(ge=0)]
    """Current frequency of the measuring CPU where readable, else 0."""
    kernel: Fact
    measuring_cpus: Annotated[tuple[int, ...], Field(min_length=1, max_length=1024)]


class Software(Model):
    """What the trusted side runs."""

    runner_version: Fact
    runner_digest: Digest
    """Over the runner's own files."""
    python: Fact
    torch: Fact
    numpy: Fact


class Provenance(Model):
    """Where a record comes from."""

    machine: Machine
    software: Software
    separation: Separation
    pod: Fact = ""
    """Pod UID on a cluster, empty on one machine."""
    node: Fact = ""
    """Node name on a cluster, empty on one machine."""


class PodObservation(Model):
    """What the API server says of the pod that an attempt was made in; the pod has no say in it."""

    pod: Fact
    """Its UID."""
    node: Fact
    """The node that it was bound to."""
    images: Annotated[dict[Fact, Fact], Field(max_length=8, default_factory=dict)]
    """Image by container, as its kubelet resolved it: a digest, wherever the name pointed."""
    started_at: Fact = ""
    """When the collector's container started, RFC 3339; empty: not known."""
    finished_at: Fact = ""
    """When it ended; empty: not known."""


MUST_AGREE_IN_A_CLASS = ("cpu_model", "last_level_cache_bytes", "logical_cpus")
"""Facts of `Machine` that may not differ between the blocks of one node class (R18)."""


def differing_facts(one: Provenance, other: Provenance) -> tuple[tuple[str, str, str], ...]:
    """Facts that must agree within a node class and don't: name, the one's, the other's.

    Some of the machine's, and all of the software's: another torch is another library to measure.
    """
    pairs = (
        *((fact, one.machine, other.machine) for fact in MUST_AGREE_IN_A_CLASS),
        *((fact, one.software, other.software) for fact in Software.model_fields),
    )
    return tuple(
        (fact, str(getattr(ours, fact)), str(getattr(theirs, fact)))
        for fact, ours, theirs in pairs
        if getattr(ours, fact) != getattr(theirs, fact)
    )
