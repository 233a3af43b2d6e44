"""Names of a cluster's objects are deterministic, short, and never the same twice."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_operator.api import names
from equipoise_operator.api.names import AttemptName

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")

protocol_names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
uids = st.uuids().map(str)
attempts = st.builds(
    AttemptName,
    campaign=protocol_names,
    campaign_uid=uids,
    comparison=protocol_names,
    node_class=protocol_names,
    block=st.integers(1, 100_000),
    attempt=st.integers(1, 100),
)

ONE = AttemptName(
    campaign="gelu-strawman",
    campaign_uid="0b8ad4d4-9d0f-4a0e-8f0a-2c6b7f9f7d10",
    comparison="gelu",
    node_class="cpu-avx512",
    block=3,
    attempt=2,
)


def test_a_job_says_which_attempt_it_is() -> None:
    assert re.fullmatch(r"gelu-strawman-b3a2-[a-z2-7]{16}", names.job_name(ONE))


def test_names_stay_what_they_are() -> None:
    # Hashes by openssl and base32. A changed name would make each running attempt a stranger to the
    # next version.
    assert names.job_name(ONE) == "gelu-strawman-b3a2-6a3yu6qko7t4tb5l"
    made = names.comparison_name(
        ONE.campaign, ONE.campaign_uid, comparison=ONE.comparison, node_class=ONE.node_class
    )
    assert made == "gelu-strawman-gelu-cpu-avx512-mvphzdeo"


@given(attempts)
def test_a_jobs_name_is_a_dns_label_that_leaves_room_for_its_pods(attempt: AttemptName) -> None:
    name = names.job_name(attempt)
    assert DNS_LABEL.fullmatch(name)
    assert len(name) <= names.LONGEST_JOB
    # The Job's controller appends a dash and five characters.
    assert len(f"{name}-abcde") <= 63


@given(attempts)
def test_a_comparisons_name_is_a_dns_label(attempt: AttemptName) -> None:
    name = names.comparison_name(
        attempt.campaign,
        attempt.campaign_uid,
        comparison=attempt.comparison,
        node_class=attempt.node_class,
    )
    assert DNS_LABEL.fullmatch(name)
    assert len(name) <= 63


@pytest.mark.parametrize(
    "change",
    [
        {"campaign_uid": "0b8ad4d4-9d0f-4a0e-8f0a-2c6b7f9f7d11"},
        {"comparison": "gelu2"},
        {"node_class": "cpu-avx2"},
        {"block": 4},
        {"attempt": 3},
    ],
)
def test_every_part_of_an_attempt_changes_its_hash(change: dict[str, str]) -> None:
    other = replace(ONE, **change)  # type: ignore[arg-type]
    assert names.job_name(other)[-16:] != names.job_name(ONE)[-16:]


def test_a_million_planned_names_are_a_million_names() -> None:
    # 4 campaigns of one name, 5 comparisons, 5 classes, 2,500 blocks, 4 attempts. What people read
    # is left out, so that the hash alone has to tell them apart.
    hashes = {
        names.job_name(AttemptName("same", f"uid-{uid}", f"c{one}", f"n{node}", block, attempt))[
            -16:
        ]
        for uid, one, node, block, attempt in product(
            range(4), range(5), range(5), range(1, 2_501), range(1, 5)
        )
    }
    assert len(hashes) == 1_000_000


def test_parts_that_read_alike_when_joined_have_names_of_their_own() -> None:
    one = replace(ONE, comparison="a-b", node_class="c")
    other = replace(ONE, comparison="a", node_class="b-c")
    assert names.job_name(one) != names.job_name(other)
    first = names.comparison_name("x", "uid", comparison="a-b", node_class="c")
    assert first != names.comparison_name("x", "uid", comparison="a", node_class="b-c")


@given(attempts)
def test_labels_name_the_attempt_and_are_valid(attempt: AttemptName) -> None:
    labels = names.attempt_labels(attempt)
    assert names.attempt_of(labels) == attempt
    for value in labels.values():
        assert len(value) <= names.LONGEST_LABEL
        assert LABEL_VALUE.fullmatch(value)


@pytest.mark.parametrize(
    "change",
    [
        {names.LABEL_BLOCK: "0"},
        {names.LABEL_BLOCK: "x"},
        {names.LABEL_BLOCK: "1e3"},
        {names.LABEL_ATTEMPT: ""},
        {names.LABEL_ATTEMPT: "-1"},
        {names.LABEL_CAMPAIGN_UID: ""},
        {names.LABEL_NODE_CLASS: ""},
    ],
)
def test_labels_that_name_no_attempt_are_told(change: dict[str, str]) -> None:
    assert names.attempt_of({**names.attempt_labels(ONE), **change}) is None
    assert names.attempt_of({}) is None


@given(attempts)
def test_the_key_in_the_bucket_leads_back_to_the_job(attempt: AttemptName) -> None:
    job = names.job_name(attempt)
    key = names.upload_key(attempt.campaign_uid, job)
    assert key == f"incoming/{attempt.campaign_uid}/{job}.json"
    assert names.job_of_upload_key(key) == (attempt.campaign_uid, job)


@pytest.mark.parametrize(
    "key",
    [
        "incoming/uid/job",
        "incoming/uid/a/b.json",
        "incoming//job.json",
        "incoming/../job.json",
        "records/uid/job.json",
        "incoming/uid/job.json\n",
    ],
)
def test_a_key_that_is_no_records_leads_nowhere(key: str) -> None:
    assert names.job_of_upload_key(key) is None


def test_kinds_have_the_names_that_kubectl_takes() -> None:
    short = [one for kind in names.KINDS for one in (kind.plural, kind.singular, *kind.short)]
    assert len(short) == len(set(short))
    assert names.CAMPAIGN.crd == "campaigns.equipoise.dev"
    assert f"{names.GROUP}/{names.VERSION}" == "equipoise.dev/v1alpha1"


def test_a_selector_is_written_in_one_order() -> None:
    assert names.selector({"b": "2", "a": "1"}) == "a=1,b=2"
