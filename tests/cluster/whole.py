"""The whole test cluster: control plane, real node, simulated nodes, bucket and our two processes.

Used by the fixture `cluster` of the e2e tier and by `make cluster`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cluster import bucket, images, programs, simulated
from cluster.control_plane import ControlPlane, Setup
from cluster.node import NAME, RealNode
from cluster.product import Product
from cluster.servers import Server, Servers, free_ports

LOGS: Final = "logs"


@dataclass(frozen=True, slots=True)
class Options:
    """What the cluster is to have beside the control plane, the real node and the bucket.

    Attributes:
        simulated: number of simulated nodes.
        product: start the operator and the validator.
        image: the runner's image; without it the real node knows the sandbox image alone.
    """

    simulated: int = 0
    product: bool = True
    image: bool = True


class Cluster:
    """A context manager: everything runs inside it, and nothing of it afterwards.

    Attributes:
        control_plane: kubectl, kubeconfigs, clients.
        node: the real one.
        bucket: where records arrive.
        product: starts our processes.
        operator: the running one; None where it wasn't asked for.
        validator: likewise.
        runner_image: name of the image that pods measure with.
        image_digest: of that image as containerd and the pods' status say it.
    """

    control_plane: ControlPlane
    node: RealNode
    bucket: bucket.Bucket
    product: Product
    runner_image: str = images.RUNNER_IMAGE
    image_digest: str = ""
    operator: Server | None = None
    validator: Server | None = None

    def __init__(self, folder: Path, options: Options | None = None) -> None:
        """Starts nothing yet.

        Args:
            folder: for data and logs; on the file system of the user's cache it starts faster.
            options: what it is to have.
        """
        self.folder = folder
        self._options = options or Options()
        self._stack = ExitStack()
        self._simulating = False

    def __enter__(self) -> Self:
        """Builds what isn't built yet, then starts everything."""
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops everything, the latest first."""
        self._stack.close()

    @property
    def logs(self) -> list[Path]:
        """Folders of the logs."""
        return [self.folder / LOGS, self.control_plane.logs, self.folder / "node" / LOGS]

    def start_simulation(self) -> None:
        """Starts KWOK, once, so that simulated nodes can be added."""
        if not self._simulating:
            simulated.start(self._built, self.control_plane, self._running)
            self._simulating = True

    def _start(self) -> None:
        self._built = built = programs.build()
        store = images.runner_store(built) if self._options.image else None
        setup = Setup(nodes=(NAME,))
        plane = ControlPlane(built, self.folder / "control-plane", setup)
        self.control_plane = self._stack.enter_context(plane)
        self.control_plane.install()
        node = RealNode(built, self.folder / "node", self.control_plane, store)
        self.node = self._stack.enter_context(node)
        if store is not None:
            self.image_digest = images.lay_code(self.node.containerd)
        self._running = running = self._stack.enter_context(Servers(self.folder / LOGS))
        address = self.node.bridge.gateway
        self.bucket = bucket.start(built, self.folder / "bucket", running, address)
        if self._options.simulated:
            self.start_simulation()
            simulated.add(self.control_plane, self._options.simulated)
        [port] = free_ports(1, address)
        parts = (self.control_plane, self.bucket, self.folder, running, address, port)
        self.product = Product(*parts)
        if self._options.product:
            self.product.publish_validator()
            self.validator = self.product.start_validator()
            self.operator = self.product.start_operator()
