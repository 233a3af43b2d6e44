"""Fixtures of the e2e tier: pods on a real kubelet. Root, and minutes the first time on a machine.

    make test-e2e                              the whole tier
    .venv/bin/python -m pytest tests/e2e -q    the same

`cluster` (a session's one): control plane, real node `real-0` with the runner's image, bucket, and
the operator and the validator running as processes. What it offers:
`.control_plane` (`.kubectl(...)`, `.read("job", "x", "-n", namespace)`, `.api()`, `.kubeconfig`),
`.node` (`.name`, `.bridge.gateway`, `.containerd.ctr(...)`), `.bucket` (`.client()`, `.name`),
`.operator` and `.validator` (`.kill()`, `.log`), `.product.start_operator()` and
`.product.start_validator()` to start one anew or a second one, `.runner_image`, `.folder` (data),
`.logs` (folders of logs). Simulated nodes: `simulated.add(cluster.control_plane, 3)` after
`cluster.start_simulation()`.
`namespace`: one of the test's own, deleted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.steps import own_namespace
from cluster.whole import Cluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What lies in this folder is of this tier."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The one cluster that this tier's tests share."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own."""
    yield from own_namespace(cluster.control_plane)
