"""Names in a cluster: kinds, labels, annotations, objects, containers, paths, keys in the bucket.

Read by everything that writes or reads an object there. The names of children are made from what
they stand for, the campaign's UID included, so that the same step is never done twice, and a
campaign made anew under an old name never meets what the old one left. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from equipoise_protocol.spec import API_VERSION

GROUP, VERSION = API_VERSION.split("/")
CATEGORY: Final = "equipoise"
"""`kubectl get equipoise` lists every kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One of our kinds, as the API server knows it."""

    kind: str
    plural: str
    short: tuple[str, ...]
    namespaced: bool

    @property
    def singular(self) -> str:
        """`campaign` for Campaign."""
        return self.kind.lower()

    @property
    def crd(self) -> str:
        """Name of its CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


CAMPAIGN: Final = Kind("Campaign", "campaigns", ("eqc",), namespaced=True)
COMPARISON: Final = Kind("Comparison", "comparisons", ("eqcmp",), namespaced=True)
NODE_CLASS: Final = Kind("NodeClass", "nodeclasses", ("eqnc",), namespaced=False)
KINDS: Final = (CAMPAIGN, COMPARISON, NODE_CLASS)

OPERATOR: Final = "equipoise-operator"
"""The controller's field manager, Lease and Deployment."""
VALIDATOR: Final = "equipoise-validator"
"""The validator's field manager, Service and Deployment."""
SYSTEM_NAMESPACE: Final = "equipoise-system"
"""Where both processes and the campaigns' secrets live."""
HTTP_PORT: Final = "http"
"""Name of the Service's port."""

LABEL_CAMPAIGN: Final = f"{GROUP}/campaign"
LABEL_CAMPAIGN_UID: Final = f"{GROUP}/campaign-uid"
LABEL_COMPARISON: Final = f"{GROUP}/comparison"
LABEL_NODE_CLASS: Final = f"{GROUP}/node-class"
LABEL_BLOCK: Final = f"{GROUP}/block"
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
LABEL_NAME: Final = "app.kubernetes.io/name"
LABEL_COMPONENT: Final = "app.kubernetes.io/component"
LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"

APP: Final = "equipoise"
RUNNER: Final = "runner"
RUNNER_LABELS: Final[Mapping[str, str]] = {LABEL_NAME: APP, LABEL_COMPONENT: RUNNER}
"""On every pod that measures: what list-watches select and anti-affinity keeps apart."""

ANNOTATION_FENCING: Final = f"{GROUP}/fencing"
"""The leader's number at the time of the write: the Lease's `leaseTransitions`."""
ANNOTATION_STOP: Final = f"{GROUP}/stop"
"""On a Job that the operator ends: the attempt's LostCause. The same write suspends the Job, which
takes its pods away. The Job stays until the validator has recorded the attempt's ending."""
ANNOTATION_RECORDED: Final = f"{GROUP}/recorded-at"
"""On a Job whose attempt has its ending in the ledger: when the operator saw that."""
ANNOTATION_QUARANTINE: Final = f"{GROUP}/quarantine"
"""On a node: why no block is sent there."""

COLLECTOR: Final = "collector"
BENCH: Final = "bench"
COLLECTOR_USER: Final = 65532
BENCH_USER: Final = 65531
SHARED_GROUP: Final = 65530
"""fsGroup of the volume that both containers see."""

RUN_FOLDER: Final = "/var/run/equipoise"
ATTEMPT_FOLDER: Final = f"{RUN_FOLDER}/attempt"
"""Where `collector`, and it alone, sees the attempt's Secret."""
SOCKET_FOLDER: Final = f"{RUN_FOLDER}/socket"
SOCKET: Final = f"{SOCKET_FOLDER}/bench.sock"
SCRATCH_FOLDER: Final = "/scratch"
CACHE_FOLDER: Final = f"{SCRATCH_FOLDER}/cache"
ENV_POD_UID: Final = "EQUIPOISE_POD_UID"
ENV_NODE_NAME: Final = "EQUIPOISE_NODE_NAME"

SECRET_PLANNED_BLOCK: Final = "planned-block.json.gz"  # noqa: S105 - keys of the Secret's data
SECRET_RECORD_KEY: Final = "record-key"  # noqa: S105
SECRET_UPLOAD_URL: Final = "upload-url"  # noqa: S105

HOSTNAME_TOPOLOGY: Final = "kubernetes.io/hostname"

LONGEST_LABEL: Final = 63
LONGEST_CAMPAIGN: Final = 40
"""As `vocabulary.Name`; the API server enforces it by a rule on the object."""
LONGEST_JOB: Final = 57
"""The Job's controller adds a dash and five characters for the pod's name."""
_CAMPAIGN_IN_JOB = 24
_COMPARISON_READABLE = 52
_JOB_HASH = 16
_COMPARISON_HASH = 8


@dataclass(frozen=True, slots=True)
class AttemptName:
    """What tells one attempt at one block from every other one of every campaign."""

    campaign: str
    campaign_uid: str
    comparison: str
    node_class: str
    block: int
    attempt: int


def job_name(attempt: AttemptName) -> str:
    """Name of an attempt's Job and of its Secret: `<campaign>-b<block>a<attempt>-<hash>`. Pure.

    At most 57 characters. The readable part is for people; the hash alone tells attempts apart,
    with 80 bits.
    """
    readable = f"{_cut(attempt.campaign, _CAMPAIGN_IN_JOB)}-b{attempt.block}a{attempt.attempt}"
    parts = (
        attempt.campaign_uid,
        attempt.comparison,
        attempt.node_class,
        str(attempt.block),
        str(attempt.attempt),
    )
    return f"{readable}-{_hash(*parts)[:_JOB_HASH]}"


def comparison_name(campaign: str, campaign_uid: str, *, comparison: str, node_class: str) -> str:
    """Name of the Comparison object of a comparison on a node class. Pure."""
    readable = _cut(f"{campaign}-{comparison}-{node_class}", _COMPARISON_READABLE)
    return f"{readable}-{_hash(campaign_uid, comparison, node_class)[:_COMPARISON_HASH]}"


def campaign_secret_name(campaign_uid: str) -> str:
    """Name of the Secret that holds a campaign's secret, in the validator's namespace. Pure."""
    return f"campaign-{campaign_uid}"


def attempt_labels(attempt: AttemptName) -> dict[str, str]:
    """Labels of an attempt's Job, pod and Secret. Pure."""
    return {
        **RUNNER_LABELS,
        LABEL_MANAGED_BY: OPERATOR,
        LABEL_CAMPAIGN: attempt.campaign,
        LABEL_CAMPAIGN_UID: attempt.campaign_uid,
        LABEL_COMPARISON: attempt.comparison,
        LABEL_NODE_CLASS: attempt.node_class,
        LABEL_BLOCK: str(attempt.block),
        LABEL_ATTEMPT: str(attempt.attempt),
    }


def comparison_labels(
    campaign: str, campaign_uid: str, *, comparison: str, node_class: str
) -> dict[str, str]:
    """Labels of a Comparison object. Pure."""
    return {
        LABEL_NAME: APP,
        LABEL_MANAGED_BY: OPERATOR,
        LABEL_CAMPAIGN: campaign,
        LABEL_CAMPAIGN_UID: campaign_uid,
        LABEL_COMPARISON: comparison,
        LABEL_NODE_CLASS: node_class,
    }


def attempt_of(labels: Mapping[str, str]) -> AttemptName | None:
    """The attempt that an object's labels name; None where they name none. Pure.

    Labels are a claim: whoever acts on them compares the object's own name with `job_name`, and its
    owner's UID with the campaign's.
    """
    block, attempt = labels.get(LABEL_BLOCK, ""), labels.get(LABEL_ATTEMPT, "")
    texts = [
        labels.get(key, "")
        for key in (LABEL_CAMPAIGN, LABEL_CAMPAIGN_UID, LABEL_COMPARISON, LABEL_NODE_CLASS)
    ]
    if not all(texts) or not _COUNT.fullmatch(block) or not _COUNT.fullmatch(attempt):
        return None
    campaign, uid, comparison, node_class = texts
    return AttemptName(
        campaign=campaign,
        campaign_uid=uid,
        comparison=comparison,
        node_class=node_class,
        block=int(block),
        attempt=int(attempt),
    )


def upload_key(campaign_uid: str, job: str) -> str:
    """Key in the bucket under which an attempt's record arrives. Pure."""
    return f"{upload_prefix(campaign_uid)}{job}.json"


def upload_prefix(campaign_uid: str) -> str:
    """What the keys of all records of a campaign begin with. Pure."""
    return f"incoming/{campaign_uid}/"


def job_of_upload_key(key: str) -> tuple[str, str] | None:
    """Campaign UID and Job of a key in the bucket; None where it is no record's. Pure."""
    found = _UPLOAD_KEY.fullmatch(key)
    return (found["uid"], found["job"]) if found else None


def selector(labels: Mapping[str, str]) -> str:
    """A label selector in the API's form, keys in order. Pure."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


_COUNT = re.compile(r"[1-9][0-9]{0,5}")
_UPLOAD_KEY = re.compile(
    r"incoming/(?P<uid>[0-9a-z][-0-9a-z]{0,62})/(?P<job>[a-z0-9][-a-z0-9]{0,62})\.json"
)


def _cut(text: str, length: int) -> str:
    """At most that long, and ending in a letter or digit."""
    return text[:length].rstrip("-.")


def _hash(*parts: str) -> str:
    """52 characters of a DNS label; parts hold no slash, so that no two lists look alike."""
    digest = hashlib.sha256("/".join(parts).encode()).digest()
    return base64.b32encode(digest).decode().lower().rstrip("=")
