"""What a machine can do, and the environment that a node class gets on it. Pure.

Called when a campaign is frozen: with what was read of this machine (`local.machine`), or with what
a cluster's labels say of a node.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_operator.errors import UsageError
from equipoise_protocol.provenance import Environment
from equipoise_protocol.registration import RegisteredClass
from equipoise_protocol.spec import NodeClass, NodeClassSpec
from equipoise_protocol.vocabulary import IsaCap

NEEDED_FLAGS: dict[IsaCap, frozenset[str]] = {
    IsaCap.NATIVE: frozenset(),
    IsaCap.AVX2: frozenset({"avx2", "fma"}),
    # What ATen asks for before it dispatches to its AVX-512 kernels.
    IsaCap.AVX512: frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"}),
}


@dataclass(frozen=True, slots=True)
class Capability:
    """What arms may use on this machine."""

    flags: frozenset[str]
    """Vector instruction sets of the CPU, in /proc/cpuinfo's words."""
    cpus: int
    """CPUs that this process may run on."""

    def lacks(self, isa: IsaCap, cpus: int) -> str:
        """What is missing for an instruction set and so many CPUs, in words; or nothing. Pure."""
        missing = sorted(NEEDED_FLAGS[isa] - self.flags)
        parts = []
        if missing:
            parts.append(f"no {isa.value} (the CPU lacks {', '.join(missing)})")
        if self.cpus < cpus:
            parts.append(f"{self.cpus} of {cpus} CPUs")
        return " and ".join(parts)


def registered_class(node_class: NodeClass, capability: Capability) -> RegisteredClass:
    """The class with the environment that this machine gives it. Pure.

    Its own environment where the machine meets the requirements, its fallback otherwise.

    Raises:
        UsageError: the requirements aren't met, and there is no fallback that can be.
    """
    name, spec = node_class.metadata.name, node_class.spec
    own = lacking(spec, capability)
    if not own:
        return RegisteredClass(name=name, spec=spec, environment=spec.environment)
    fallback = spec.fallback
    if fallback is None:
        raise UsageError(
            f"This machine is not of node class {name}: it has {own}. Run the campaign on a machine"
            f" that meets spec.requirements of {name}, or give the class a fallback environment."
        )
    still = fallback_lacking(fallback, capability)
    if still:
        raise UsageError(
            f"This machine is not of node class {name}: it has {own}, and for its fallback"
            f" {still}. Run the campaign on another machine, or give the class a smaller"
            " fallback."
        )
    return RegisteredClass(
        name=name,
        spec=spec,
        environment=fallback,
        fell_back=f"the machine has {own}; fallback: {_described(fallback)}",
    )


def lacking(spec: NodeClassSpec, capability: Capability) -> str:
    """What a machine lacks for a class's own environment, in words; or nothing. Pure."""
    requirements = spec.requirements
    return _lacking(capability, spec.environment, requirements.isa, requirements.logical_cpus)


def fallback_lacking(fallback: Environment, capability: Capability) -> str:
    """What a machine lacks for a class's fallback, in words; or nothing. Pure."""
    return _lacking(capability, fallback, IsaCap.NATIVE, 1)


def _lacking(capability: Capability, environment: Environment, isa: IsaCap, cpus: int) -> str:
    cap = isa if environment.isa_cap is IsaCap.NATIVE else environment.isa_cap
    return capability.lacks(cap, max(cpus, environment.threads)) or capability.lacks(isa, 1)


def _described(environment: Environment) -> str:
    threads = f"{environment.threads} thread{'s' if environment.threads != 1 else ''}"
    return f"{threads}, {environment.isa_cap.value} instructions"
