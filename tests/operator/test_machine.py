"""The environment that a node class gets on a machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise_operator.campaign.capability import Capability, registered_class
from equipoise_operator.errors import UsageError
from equipoise_operator.local.machine import read_capability
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import Metadata, NodeClass, NodeClassSpec, Requirements
from equipoise_protocol.vocabulary import IsaCap

AVX2_ONLY = Capability(flags=frozenset({"avx2", "fma"}), cpus=2)
AVX512 = Capability(flags=AVX2_ONLY.flags | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, cpus=2)


def a_class(**change: object) -> NodeClass:
    return NodeClass(
        api_version="equipoise.dev/v1alpha1",
        kind="NodeClass",
        metadata=Metadata.model_validate({"name": "wide"}),
        spec=NodeClassSpec.model_validate(change),
    )


def needs_avx512(*, fallback: Environment | None) -> NodeClass:
    return a_class(
        environment=Environment(isa_cap=IsaCap.AVX512),
        requirements=Requirements(isa=IsaCap.AVX512),
        fallback=fallback,
    )


def test_a_machine_that_meets_the_requirements_gets_the_class_s_own_environment() -> None:
    registered = registered_class(needs_avx512(fallback=Environment(threads=2)), AVX512)
    assert registered.environment == Environment(isa_cap=IsaCap.AVX512)
    assert registered.fell_back == ""


def test_without_the_instructions_the_fallback_is_taken_and_said() -> None:
    registered = registered_class(needs_avx512(fallback=Environment(threads=2)), AVX2_ONLY)
    assert registered.environment == Environment(threads=2)
    assert "no Avx512" in registered.fell_back
    assert "avx512f" in registered.fell_back
    assert "2 threads" in registered.fell_back


def test_without_a_fallback_the_machine_is_refused_with_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"not of node class wide: it has no Avx512"):
        registered_class(needs_avx512(fallback=None), AVX2_ONLY)


def test_a_fallback_that_the_machine_can_t_give_either_is_refused() -> None:
    with pytest.raises(UsageError, match="for its fallback 2 of 8 CPUs"):
        registered_class(needs_avx512(fallback=Environment(threads=8)), AVX2_ONLY)


def test_too_few_cpus_are_named() -> None:
    four = a_class(environment=Environment(threads=4), requirements=Requirements(logical_cpus=4))
    with pytest.raises(UsageError, match="2 of 4 CPUs"):
        registered_class(four, AVX512)


def test_an_environment_s_own_cap_is_required_even_where_no_requirement_says_so() -> None:
    capped = a_class(environment=Environment(isa_cap=IsaCap.AVX2))
    with pytest.raises(UsageError, match="no Avx2"):
        registered_class(capped, Capability(flags=frozenset(), cpus=2))


def test_this_machine_is_read(tmp_path: Path) -> None:
    found = read_capability()
    assert found.cpus == len(os.sched_getaffinity(0))
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nflags\t\t: fpu avx2 fma\n\nprocessor : 1\nflags : fpu\n")
    assert read_capability(cpuinfo).flags == {"fpu", "avx2", "fma"}
    assert read_capability(tmp_path / "nothing").flags == frozenset()
