"""The objects that the operator makes: Comparison, Job with its pod, network policy. Pure.

Called by `reconcile`. What a pod must look like so that the candidate can't reach the attempt's
Secret is checked again by the validator before it mints one (`validator.pod_checks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from equipoise_operator.api import names
from equipoise_operator.api.names import AttemptName
from equipoise_operator.api.status import ComparisonSpec
from equipoise_operator.campaign.schedule import Question
from equipoise_operator.controller.observed import LABEL_QUEUE, CampaignView, ComparisonView
from equipoise_operator.controller.settings import Settings
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import API_VERSION, CampaignSpec, NodeClassSpec

Manifest = dict[str, Any]

RUNS_OF_AN_ARM: Final = 2
"""In a block: a row of the square and its mirror image (R08)."""
GRACE_SECONDS: Final = 10
"""A pod told to end: nothing of a block that was broken off is worth waiting for."""
LEAST_MILLI_CPUS: Final = 100
COLLECTOR_MILLI_CPUS: Final = 100
"""The collector waits while an arm computes."""
NODE_SILENT_SECONDS: Final = 120
"""A block may go on so long on a node that doesn't answer: its record needs no API server."""
WEIGHT: Final = 100
DNS_PORT: Final = 53
READ_ONLY_BY_GROUP: Final = 0o440

PYTHON: Final = ("python", "-m", "equipoise_runner")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block may be measured."""

    node_class: NodeClassSpec
    environment: Environment
    excluded: tuple[str, ...] = ()
    """Nodes that the selector matches and that must not be taken."""
    preferred: str = ""
    """The node that has measured the fewest blocks so far; empty where there is no choice."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt at a block, and where it may be measured."""

    attempt: AttemptName
    owner: ComparisonView
    place: Place


def comparison(campaign: CampaignView, question: Question) -> Manifest:
    """The Comparison object of a question. Pure."""
    spec = ComparisonSpec(
        campaign=campaign.name,
        comparison=question.comparison,
        node_class=question.node_class,
        registration_digest=campaign.digest,
    )
    return {
        "apiVersion": API_VERSION,
        "kind": names.COMPARISON.kind,
        "metadata": {
            "name": names.comparison_name(
                campaign.name,
                campaign.uid,
                comparison=question.comparison,
                node_class=question.node_class,
            ),
            "namespace": campaign.namespace,
            "labels": names.comparison_labels(
                campaign.name,
                campaign.uid,
                comparison=question.comparison,
                node_class=question.node_class,
            ),
            "ownerReferences": [_owner(names.CAMPAIGN.kind, campaign.name, campaign.uid)],
        },
        "spec": spec.model_dump(mode="json", by_alias=True),
    }


def job(
    settings: Settings,
    campaign: CampaignView,
    spec: CampaignSpec,
    *,
    assignment: Assignment,
) -> Manifest:
    """The Job of one attempt at a block: one pod, never a second one. Pure.

    Whether an attempt that came to nothing is followed by another is the schedule's decision, so
    nothing here retries. Failure rules are there for the reasons that they give.
    """
    attempt, owner = assignment.attempt, assignment.owner
    labels = names.attempt_labels(attempt)
    name = names.job_name(attempt)
    queue = {LABEL_QUEUE: campaign.queue} if campaign.queue else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": campaign.namespace,
            "labels": {**labels, **queue},
            "ownerReferences": [_owner(names.COMPARISON.kind, owner.name, owner.uid)],
        },
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "activeDeadlineSeconds": deadline_seconds(settings, spec, attempt.comparison),
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    }
                ]
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod(settings, name, assignment.place),
            },
        },
    }


def network_policy(settings: Settings, campaign: CampaignView) -> Manifest:
    """What pods of a campaign may reach: the bucket, and names. Nobody reaches them. Pure.

    Both containers of a pod share its network, so a policy can't tell them apart; arms have no IP
    sockets (runner_image/README.md).
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": f"equipoise-{campaign.uid}",
            "namespace": campaign.namespace,
            "labels": {
                names.LABEL_NAME: names.APP,
                names.LABEL_MANAGED_BY: names.OPERATOR,
                names.LABEL_CAMPAIGN: campaign.name,
                names.LABEL_CAMPAIGN_UID: campaign.uid,
            },
            "ownerReferences": [_owner(names.CAMPAIGN.kind, campaign.name, campaign.uid)],
        },
        "spec": {
            "podSelector": {
                "matchLabels": {**names.RUNNER_LABELS, names.LABEL_CAMPAIGN_UID: campaign.uid}
            },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [
                {
                    "to": [{"ipBlock": {"cidr": one}} for one in settings.store_cidrs],
                    "ports": [{"protocol": "TCP", "port": one} for one in settings.store_ports],
                },
                {"ports": [{"protocol": one, "port": DNS_PORT} for one in ("UDP", "TCP")]},
            ],
        },
    }


def deadline_seconds(settings: Settings, spec: CampaignSpec, comparison: str) -> int:
    """How long an attempt may take from its start: every run to its limit, and the rest. Pure."""
    arms = next(len(one.arms) for one in spec.comparisons if one.name == comparison)
    runs = RUNS_OF_AN_ARM * arms
    return runs * spec.design.run_timeout_seconds + settings.deadline_extra_seconds


def _owner(kind: str, name: str, uid: str) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def _pod(settings: Settings, secret: str, place: Place) -> Manifest:
    optional: Manifest = {}
    if settings.runner_priority_class:
        optional["priorityClassName"] = settings.runner_priority_class
    if settings.runner_image_pull_secrets:
        optional["imagePullSecrets"] = [{"name": one} for one in settings.runner_image_pull_secrets]
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": names.SHARED_GROUP,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": _affinity(place),
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": NODE_SILENT_SECONDS,
            }
            for key in ("not-ready", "unreachable")
        ],
        "containers": [_collector(settings), _bench(settings, place.environment)],
        "volumes": [
            {
                "name": "attempt",
                "secret": {"secretName": secret, "defaultMode": READ_ONLY_BY_GROUP},
            },
            _memory("socket", "16Mi"),
            _memory("shared-memory", settings.bench_shared_memory),
            {"name": "scratch", "emptyDir": {}},
            {"name": "collector-scratch", "emptyDir": {}},
        ],
        **optional,
    }


def _collector(settings: Settings) -> Manifest:
    return {
        "name": names.COLLECTOR,
        "image": settings.runner_image,
        "imagePullPolicy": settings.runner_image_pull_policy,
        "command": [
            *PYTHON,
            "pod-collect",
            "--attempt",
            names.ATTEMPT_FOLDER,
            "--socket",
            names.SOCKET,
        ],
        "env": [
            _from_field(names.ENV_POD_UID, "metadata.uid"),
            _from_field(names.ENV_NODE_NAME, "spec.nodeName"),
            {"name": "TMPDIR", "value": names.SCRATCH_FOLDER},
        ],
        "resources": {
            "requests": {
                "cpu": f"{COLLECTOR_MILLI_CPUS}m",
                "memory": settings.collector_memory,
            },
            "limits": {"memory": settings.collector_memory},
        },
        "securityContext": _restricted(names.COLLECTOR_USER),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "attempt", "mountPath": names.ATTEMPT_FOLDER, "readOnly": True},
            {"name": "socket", "mountPath": names.SOCKET_FOLDER},
            {"name": "collector-scratch", "mountPath": names.SCRATCH_FOLDER},
        ],
    }


def _bench(settings: Settings, environment: Environment) -> Manifest:
    milli_cpus = environment.threads * 1_000 - COLLECTOR_MILLI_CPUS - settings.reserved_milli_cpus
    return {
        "name": names.BENCH,
        "image": settings.runner_image,
        "imagePullPolicy": settings.runner_image_pull_policy,
        "command": [*PYTHON, "bench", "--socket", names.SOCKET, "--cache", names.CACHE_FOLDER],
        "env": [
            {"name": "TMPDIR", "value": names.SCRATCH_FOLDER},
            {"name": "HOME", "value": names.SCRATCH_FOLDER},
        ],
        # No limit of the CPU: its quota would stop a run in the middle (R17).
        "resources": {
            "requests": {
                "cpu": f"{max(milli_cpus, LEAST_MILLI_CPUS)}m",
                "memory": settings.bench_memory,
            },
            "limits": {"memory": settings.bench_memory},
        },
        "securityContext": _restricted(names.BENCH_USER),
        # Nothing that comes from here is shown as a message of ours.
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "socket", "mountPath": names.SOCKET_FOLDER},
            {"name": "scratch", "mountPath": names.SCRATCH_FOLDER},
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - the arms' own
        ],
    }


def _restricted(user: int) -> Manifest:
    return {
        "runAsUser": user,
        "runAsGroup": names.SHARED_GROUP,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _affinity(place: Place) -> Manifest:
    required: Manifest = {}
    expressions = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted(place.node_class.node_selector.items())
    ]
    if expressions:
        required["matchExpressions"] = expressions
    if place.excluded:
        required["matchFields"] = [_node_name("NotIn", one) for one in place.excluded]
    nodes: Manifest = {}
    if required:
        nodes["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [required]}
    if place.preferred:
        nodes["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {
                "weight": WEIGHT,
                "preference": {"matchFields": [_node_name("In", place.preferred)]},
            }
        ]
    return {
        **({"nodeAffinity": nodes} if nodes else {}),
        # One block on a machine at a time, whoever's it is: the scheduler itself sees to that.
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": dict(names.RUNNER_LABELS)},
                    "namespaceSelector": {},
                    "topologyKey": names.HOSTNAME_TOPOLOGY,
                }
            ]
        },
    }


def _node_name(operator: str, node: str) -> Manifest:
    return {"key": "metadata.name", "operator": operator, "values": [node]}


def _memory(name: str, size: str) -> Manifest:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def _from_field(name: str, path: str) -> Manifest:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def environment_of(spec: NodeClassSpec, *, fell_back: bool) -> Environment:
    """The environment that pods of a class are made for. Pure."""
    return spec.fallback if fell_back and spec.fallback else spec.environment
