"""Whether a bound pod keeps its Secret from the candidate: looked at before one is minted.

Called by `minting`. The operator makes the pods, and admission plug-ins of a cluster may change
them: what stands in the API server is what will run. A pod with a fault gets no Secret, and so
measures nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from equipoise_operator.api import names

Raw = Mapping[str, Any]

CONTAINERS: Final = (names.COLLECTOR, names.BENCH)
USERS: Final[Mapping[str, int]] = {
    names.COLLECTOR: names.COLLECTOR_USER,
    names.BENCH: names.BENCH_USER,
}
SHARING: Final = ("hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace")
"""Fields of a pod's spec with which a process of one container can look into another's."""


def faults(pod: Raw, *, secret: str, images: frozenset[str]) -> tuple[str, ...]:
    """Everything about a pod that would let the candidate near its Secret, one sentence each. Pure.

    Args:
        pod: in the API's form.
        secret: name of the attempt's Secret.
        images: images that a pod may measure with.
    """
    spec: Raw = pod.get("spec") or {}
    return (
        *_of_pod(spec),
        *_of_containers(spec, images),
        *_of_secret(spec, secret),
    )


def _of_pod(spec: Raw) -> Iterator[str]:
    for field in SHARING:
        if spec.get(field):
            yield f"spec.{field} is true, expected false: containers must not see each other"
    if spec.get("automountServiceAccountToken") is not False:
        yield (
            "spec.automountServiceAccountToken is not false, so that the candidate could get a"
            " token of the API server"
        )
    for volume in spec.get("volumes") or ():
        if "hostPath" in volume:
            yield f"volume {volume.get('name')} is a folder of the node, expected none"


def _of_containers(spec: Raw, images: frozenset[str]) -> Iterator[str]:
    present = [one.get("name") for one in spec.get("containers") or ()]
    for name in CONTAINERS:
        if name not in present:
            yield f"there is no container {name}"
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for one in spec.get(kind) or ():
            name = one.get("name")
            if kind != "containers" or name not in CONTAINERS:
                yield (
                    f"there is a container {name} ({kind}), expected {' and '.join(CONTAINERS)}"
                    " alone; keep what injects it away from pods with the label"
                    f" {names.LABEL_COMPONENT}={names.RUNNER}"
                )
            else:
                yield from _of_container(spec, one, images)


def _of_container(spec: Raw, container: Raw, images: frozenset[str]) -> Iterator[str]:
    name, image = str(container.get("name")), container.get("image")
    if image not in images:
        yield (
            f"container {name} runs image {image}, expected {' or '.join(sorted(images))}; give"
            " operator and validator the same runner image"
        )
    context: Raw = container.get("securityContext") or {}
    if context.get("privileged"):
        yield f"container {name} is privileged"
    if context.get("allowPrivilegeEscalation") is not False:
        yield f"container {name} may gain privileges: allowPrivilegeEscalation is not false"
    added = (context.get("capabilities") or {}).get("add") or ()
    if added:
        yield f"container {name} has capabilities {', '.join(added)}, expected none"
    user = context.get("runAsUser", (spec.get("securityContext") or {}).get("runAsUser"))
    if user != USERS[name]:
        yield f"container {name} runs as user {user}, expected {USERS[name]}"


def _of_secret(spec: Raw, secret: str) -> Iterator[str]:
    volumes = [one for one in spec.get("volumes") or () if secret in _secrets_of_volume(one)]
    if not volumes:
        yield f"no volume holds Secret {secret}, so that the collector would wait for nothing"
    held = {one.get("name") for one in volumes}
    for container in spec.get("containers") or ():
        name = container.get("name")
        mounts = [one for one in container.get("volumeMounts") or () if one.get("name") in held]
        if name == names.COLLECTOR:
            if [one.get("mountPath") for one in mounts] != [names.ATTEMPT_FOLDER]:
                yield f"container {name} does not mount Secret {secret} at {names.ATTEMPT_FOLDER}"
        elif mounts:
            yield f"container {name} mounts Secret {secret}, expected {names.COLLECTOR} alone"
        if secret in _secrets_of_environment(container):
            yield f"container {name} has Secret {secret} in its environment, expected it mounted"


def _secrets_of_volume(volume: Raw) -> frozenset[str]:
    projected: Sequence[Raw] = (volume.get("projected") or {}).get("sources") or ()
    return frozenset(
        {
            str((volume.get("secret") or {}).get("secretName")),
            *(str((one.get("secret") or {}).get("name")) for one in projected),
        }
    )


def _secrets_of_environment(container: Raw) -> frozenset[str]:
    return frozenset(
        {
            *(
                str(((one.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name"))
                for one in container.get("env") or ()
            ),
            *(
                str((one.get("secretRef") or {}).get("name"))
                for one in container.get("envFrom") or ()
            ),
        }
    )
