"""The operator's fencing policy is about the operator alone, whatever is or isn't there."""

from __future__ import annotations

import pytest
import yaml

from cluster import programs
from cluster.control_plane import ControlPlane, KubectlError
from cluster.steps import eventually
from equipoise_operator.api import names
from object_cases import a_comparison_object

ACCOUNT = f"system:serviceaccount:{names.SYSTEM_NAMESPACE}:{names.OPERATOR}"


def test_nobody_else_is_fenced_with_and_without_a_lease(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    built = programs.build(programs.CONTROL_PLANE)
    with ControlPlane(built, tmp_path_factory.mktemp("admission")) as running:
        running.install()
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": names.OPERATOR, "namespace": names.SYSTEM_NAMESPACE},
            "spec": {"leaseTransitions": 3, "leaseDurationSeconds": 15},
        }
        running.kubectl("create", "-f", "-", given=yaml.safe_dump(lease))
        # The policy is in force a moment after it is applied: once it refuses the operator.
        assert eventually(lambda: is_refused(running, f"--as={ACCOUNT}"))
        assert not is_refused(running)
        running.kubectl("delete", "lease", names.OPERATOR, "-n", names.SYSTEM_NAMESPACE)
        # Long enough for the API server to notice that the Lease is gone.
        assert eventually(lambda: not is_refused(running, f"--as={ACCOUNT}"))
        for _ in range(5):
            assert not is_refused(running)
            running.kubectl("create", "job", "anybodys", "--image=any")
            running.kubectl("delete", "job", "anybodys")


def is_refused(running: ControlPlane, *who: str) -> bool:
    """Whether the policy refuses a Comparison."""
    text = yaml.safe_dump(a_comparison_object())
    try:
        running.kubectl("create", "--dry-run=server", "-f", "-", *who, given=text)
    except KubectlError as refused:
        assert "equipoise-operator-fencing" in str(refused), refused  # noqa: PT017 - the one reason
        return True
    return False
