"""Fixtures of the API tier: a real API server with its controllers, and no kubelet.

    make test-api                              the whole tier
    .venv/bin/python -m pytest tests/api -q    the same

`control_plane` (a session's one): etcd, kube-apiserver, controller-manager, scheduler, and the
project's own CRDs and manifests applied. What it offers: `.kubectl("get", "jobs")`, `.read("job",
"x", "-n", namespace)` (JSON), `.api()` (a client of the `kubernetes` package), `.kubeconfig` (the
administrator's), `.account_kubeconfig("equipoise-operator")`, `.kubectl_as(kubeconfig, ...)`.
`namespace`: one of the test's own, deleted afterwards. A Job gets its pods there, but no kubelet
runs them: a test sets their status by hand (`kubectl patch --subresource=status`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import programs
from cluster.control_plane import ControlPlane
from cluster.steps import own_namespace

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What lies in this folder is of this tier."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.api)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The one control plane that this tier's tests share."""
    built = programs.build(programs.CONTROL_PLANE)
    with ControlPlane(built, tmp_path_factory.mktemp("control-plane")) as running:
        running.install()
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own."""
    yield from own_namespace(control_plane)
