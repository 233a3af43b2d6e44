"""The pods' network: a bridge of the cluster's own, whose address is the way to host services.

Called by the real node. The bridge's name carries a number that its subnet carries too, so that two
clusters on one machine don't meet. Nothing is masqueraded: a pod reaches this machine and no other
one. (A bridge plug-in enforces no NetworkPolicy; tests of what a pod can reach must not count on
one.)
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.servers import StartError

PREFIX: Final = "eqp"
MOST_CLUSTERS: Final = 64
PLUGINS: Final = Path("/usr/lib/cni")
"""Where Debian's containernetworking-plugins puts them."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """One bridge; its number tells clusters on one machine apart."""

    number: int

    @property
    def name(self) -> str:
        """Of the interface."""
        return f"{PREFIX}{self.number}"

    @property
    def subnet(self) -> str:
        """Where pods get their addresses."""
        return f"10.87.{self.number}.0/24"

    @property
    def gateway(self) -> str:
        """This machine's address on it, for servers that pods reach."""
        return f"10.87.{self.number}.1"


def make_bridge() -> Bridge:
    """The first bridge that isn't there yet, made and brought up.

    Raises:
        StartError: too many clusters, or no right to make one.
    """
    for number in range(MOST_CLUSTERS):
        bridge = Bridge(number)
        # The kernel refuses a name that is taken: two clusters that start at once get two.
        if not Path("/sys/class/net", bridge.name).exists() and _ip(
            "link", "add", bridge.name, "type", "bridge"
        ):
            _ip("address", "add", f"{bridge.gateway}/24", "dev", bridge.name)
            _ip("link", "set", bridge.name, "up")
            return bridge
    raise StartError(
        f"no bridge {PREFIX}0 to {PREFIX}{MOST_CLUSTERS - 1} could be made: "
        "run as root (`ip link add ... type bridge` must work) and end clusters that still run"
    )


def write_plugin_settings(folder: Path, bridge: Bridge) -> None:
    """The one network that containerd finds in its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    addresses = {
        "type": "host-local",
        "dataDir": str(folder / "addresses"),
        "ranges": [[{"subnet": bridge.subnet, "gateway": bridge.gateway}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugin = {
        "type": "bridge",
        "bridge": bridge.name,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    settings = {"cniVersion": "1.0.0", "name": bridge.name, "plugins": [plugin]}
    (folder / "10-bridge.conflist").write_text(json.dumps(settings, indent=2))


def _ip(*arguments: str) -> bool:
    done = subprocess.run(["ip", *arguments], capture_output=True, check=False)
    return done.returncode == 0
