"""Operator and validator killed at random during a campaign: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
import time
from collections import Counter

from applied import Applied
from cluster.whole import Cluster
from equipoise_operator import verification
from equipoise_operator.campaign.results import attempt_name
from equipoise_protocol.ledger.bodies import Validity

KILLS = 10
"""Of each of the two processes."""
SEED = 20261207


def test_ten_kills_of_each_process_change_nothing_about_a_campaign(
    cluster: Cluster, namespace: str
) -> None:
    applied = Applied(cluster, namespace, blocks=10)
    draw = random.Random(SEED)  # noqa: S311 - moments of a test
    victims = ["operator", "validator"] * KILLS
    draw.shuffle(victims)
    applied.running()
    for victim in victims:
        time.sleep(draw.uniform(0.5, 8.0))
        _kill_and_start_anew(cluster, victim)
    applied.wait("Complete", seconds=900)

    data = applied.data()
    plans = [attempt_name(one.identity) for one in data.plans]
    endings = Counter(attempt_name(one.record.identity) for one in data.records)
    endings += Counter(attempt_name(one.claimed) for one in data.rejections)
    assert endings == Counter(plans)
    assert set(endings.values()) == {1}
    valid = [one.record.identity.block for one in data.records if one.validity is Validity.VALID]
    assert sorted(valid) == list(range(1, 11))
    # A dead process is no reason to lose a block: the pods know nothing of it.
    assert [one.cause for one in data.rejections] == []
    assert verification.verify(cluster.product.ledger).faults == ()


def _kill_and_start_anew(cluster: Cluster, victim: str) -> None:
    if victim == "operator":
        assert cluster.operator is not None
        cluster.operator.kill()
        cluster.operator = cluster.product.start_operator()
    else:
        assert cluster.validator is not None
        cluster.validator.kill()
        cluster.validator = cluster.product.start_validator()
