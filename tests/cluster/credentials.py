"""Keys, certificates, tokens and kubeconfigs of a test cluster, made anew for each.

Called by the control plane. `openssl` makes the keys; nothing here outlives the cluster's folder.
"""

from __future__ import annotations

import base64
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

ADMIN: Final = "admin"
CONTROLLERS: Final = "system:kube-controller-manager"
SCHEDULER: Final = "system:kube-scheduler"
NODE_PREFIX: Final = "system:node:"
_DAYS: Final = "30"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the API server by token: name and groups."""

    user: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority of one cluster."""

    def __init__(self, folder: Path) -> None:
        """Makes the authority's own key and certificate.

        Args:
            folder: where all of them are written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        # Debian's own configuration would add extensions of its choice.
        self._settings = folder / "openssl.cnf"
        self._settings.write_text("[req]\ndistinguished_name = name\n[name]\n")
        self.own = self._request("ca", "/CN=equipoise-test-cluster", "CA:TRUE", ())

    def issue(self, name: str, subject: str, *, addresses: tuple[str, ...] = ()) -> Certificate:
        """A certificate for a server (with its addresses) or a client.

        Args:
            name: of its two files.
            subject: as `/O=group/CN=user`.
            addresses: IP addresses that a server is reached by.
        """
        signer: tuple[str, ...] = ("-CA", str(self.own.certificate), "-CAkey", str(self.own.key))
        if addresses:
            signer += ("-addext", "subjectAltName=" + ",".join(f"IP:{each}" for each in addresses))
        return self._request(name, subject, "CA:FALSE", signer)

    def _request(
        self, name: str, subject: str, constraint: str, more: tuple[str, ...]
    ) -> Certificate:
        made = Certificate(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _openssl(
            *("req", "-x509", "-config", str(self._settings), "-nodes", "-days", _DAYS),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-subj", subject, "-addext", f"basicConstraints=critical,{constraint}"),
            *("-keyout", str(made.key), "-out", str(made.certificate), *more),
        )
        return made


def write_tokens(path: Path, identities: tuple[Identity, ...]) -> dict[str, str]:
    """The API server's file of static tokens; returns the token of each user."""
    tokens = {identity.user: secrets.token_hex(24) for identity in identities}
    lines = [
        f'{tokens[each.user]},{each.user},{each.user},"{",".join(each.groups)}"\n'
        for each in identities
    ]
    path.touch(mode=0o600)
    path.write_text("".join(lines))
    return tokens


def write_kubeconfig(path: Path, url: str, authority: Path, token: str) -> Path:
    """A kubeconfig with one context, readable by its owner."""
    trusted = base64.b64encode(authority.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "test", "cluster": {"server": url, "certificate-authority-data": trusted}}
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content))
    return path


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
