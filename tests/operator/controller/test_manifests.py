"""The objects that the operator makes, field by field where it matters, and once as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import a_campaign, a_comparison, a_design, a_spec, an_honest_baseline
from controller_builders import (
    DIGEST,
    GELU,
    SETTINGS,
    SPEC,
    UID,
    a_campaign_view,
    a_comparison_view,
    an_attempt,
)
from equipoise_operator.api import names
from equipoise_operator.controller import manifests
from equipoise_operator.controller.manifests import Assignment, Place
from equipoise_operator.controller.observed import (
    campaign_view,
    comparison_view,
    runner_job,
)
from equipoise_operator.controller.settings import Settings
from equipoise_operator.validator import pod_checks
from equipoise_protocol.provenance import Environment
from equipoise_protocol.spec import CampaignSpec, NodeClassSpec

GOLDEN = Path(__file__).parents[2] / "golden" / "job.yaml"
PLACE = Place(
    node_class=NodeClassSpec(node_selector={"pool": "quiet"}),
    environment=Environment(threads=4),
    excluded=("n7",),
    preferred="n2",
)


def a_job(
    place: Place = PLACE,
    *,
    settings: Settings = SETTINGS,
    queue: str = "",
    spec: CampaignSpec = SPEC,
) -> dict[str, Any]:
    return manifests.job(
        settings,
        a_campaign_view(spec, queue=queue),
        spec,
        assignment=Assignment(an_attempt(3, 2), a_comparison_view(), place),
    )


def pod(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]
    return found


def container(job: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in pod(job)["containers"] if one["name"] == name)


def test_the_job_is_the_one_that_was_looked_at_by_people() -> None:
    # To write it anew after a change that is meant: yaml.safe_dump(a_job(), sort_keys=False).
    assert a_job() == yaml.safe_load(GOLDEN.read_text())


def test_the_validator_finds_no_fault_in_the_pod_that_the_operator_makes() -> None:
    job = a_job()
    found = pod_checks.faults(
        job["spec"]["template"],
        secret=job["metadata"]["name"],
        images=frozenset({SETTINGS.runner_image}),
    )
    assert found == ()


def test_what_the_operator_makes_is_what_it_reads_back() -> None:
    metadata = {"uid": "u", "resourceVersion": "1"}
    job = a_job()
    job["metadata"].update(metadata)
    read = runner_job(job)
    assert read.attempt == an_attempt(3, 2)
    assert read.owner_uid == a_comparison_view().uid
    assert not read.expires
    made = manifests.comparison(a_campaign_view(), GELU)
    made["metadata"].update(metadata)
    comparison = comparison_view(made)
    assert (comparison.question, comparison.digest) == (GELU, DIGEST)
    assert comparison.owner_uid == UID
    assert comparison.standing is None


def test_only_the_collector_mounts_the_attempts_secret() -> None:
    job = a_job()
    mounts = {
        one["name"]: [mount["mountPath"] for mount in one["volumeMounts"]]
        for one in pod(job)["containers"]
    }
    assert names.ATTEMPT_FOLDER in mounts[names.COLLECTOR]
    assert names.ATTEMPT_FOLDER not in mounts[names.BENCH]
    (secret,) = [one["secret"] for one in pod(job)["volumes"] if "secret" in one]
    assert secret == {"secretName": job["metadata"]["name"], "defaultMode": 0o440}


def test_no_cpu_limit_stops_a_run_and_pods_fit_beside_a_nodes_own_daemons() -> None:
    job = a_job()
    containers = pod(job)["containers"]
    assert all("cpu" not in one["resources"]["limits"] for one in containers)
    asked = [int(one["resources"]["requests"]["cpu"].removesuffix("m")) for one in containers]
    assert sum(asked) == 4_000 - SETTINGS.reserved_milli_cpus
    single = a_job(Place(NodeClassSpec(node_selector={}), Environment(threads=1)))
    assert container(single, names.BENCH)["resources"]["requests"]["cpu"] == "700m"


def test_the_deadline_follows_from_what_was_registered() -> None:
    # Three arms, two runs each, a run of at most 300 s, and 900 s around them.
    three = a_comparison()
    assert len(three.arms) == 3
    assert manifests.deadline_seconds(SETTINGS, a_spec(), "gelu") == 6 * 300 + 900
    short = a_spec(design=a_design(run_timeout_seconds=10))
    assert manifests.deadline_seconds(SETTINGS, short, "gelu") == 6 * 10 + 900
    more = a_spec(
        comparisons=(a_comparison(arms=(*three.arms, an_honest_baseline(name="another"))),)
    )
    assert manifests.deadline_seconds(SETTINGS, more, "gelu") == 8 * 300 + 900


def test_a_time_to_live_is_never_set_before_the_record_is_in() -> None:
    assert "ttlSecondsAfterFinished" not in a_job()["spec"]


def test_a_campaigns_queue_is_passed_on() -> None:
    key = "kueue.x-k8s.io/queue-name"
    assert key not in a_job()["metadata"]["labels"]
    assert a_job(queue="team-a")["metadata"]["labels"][key] == "team-a"
    raw = a_campaign(SPEC).model_dump(mode="json", by_alias=True, exclude_none=True)
    raw["metadata"].update(namespace="lab", uid="u", generation=1, labels={key: "team-a"})
    assert campaign_view(raw).queue == "team-a"


def test_no_selector_and_no_choice_leave_the_pod_to_the_scheduler() -> None:
    free = a_job(Place(NodeClassSpec(node_selector={}), Environment()))
    assert "nodeAffinity" not in pod(free)["affinity"]
    assert "podAntiAffinity" in pod(free)["affinity"]


def test_priority_and_pull_secrets_are_passed_on_where_they_are_set() -> None:
    settings = SETTINGS.model_copy(
        update={"runner_priority_class": "high", "runner_image_pull_secrets": ("registry",)}
    )
    made = pod(a_job(settings=settings))
    assert made["priorityClassName"] == "high"
    assert made["imagePullSecrets"] == [{"name": "registry"}]
    assert not {"priorityClassName", "imagePullSecrets"} & pod(a_job()).keys()


def test_the_network_policy_lets_pods_reach_the_bucket_and_nobody_reach_them() -> None:
    settings = SETTINGS.model_copy(update={"store_cidrs": ("10.1.2.3/32",), "store_ports": (9000,)})
    policy = manifests.network_policy(settings, a_campaign_view())
    spec = policy["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == []
    assert spec["egress"][0] == {
        "to": [{"ipBlock": {"cidr": "10.1.2.3/32"}}],
        "ports": [{"protocol": "TCP", "port": 9000}],
    }
    assert {one["port"] for one in spec["egress"][1]["ports"]} == {53}
    labels = a_job()["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert len(policy["metadata"]["name"]) <= 63


@pytest.mark.parametrize("length", [1, 40])
def test_names_and_labels_are_short_enough_whatever_the_campaign_is_called(length: int) -> None:
    campaign = a_campaign_view(name="c" * length)
    made = manifests.comparison(campaign, GELU)
    assert len(made["metadata"]["name"]) <= 63
    assert all(len(one) <= 63 for one in made["metadata"]["labels"].values())
