"""An attempt's Secret: what is in it, and whether it fits."""

from __future__ import annotations

import base64
import gzip
import random
import string

from builders import a_planned_block, a_record_key
from equipoise_operator.api import names
from equipoise_operator.api.names import AttemptName
from equipoise_operator.validator import minting
from equipoise_protocol.block import PlannedBlock

PLANNED = a_planned_block()
KEY = a_record_key(PLANNED)
LETTERS = string.ascii_letters + string.digits + "+-"
ATTEMPT = AttemptName("gelu", "uid-1", "gelu", "cpu", block=3, attempt=1)


def the_secret() -> dict[str, object]:
    return minting.secret(
        ATTEMPT,
        PLANNED,
        namespace="team",
        job_uid="job-uid",
        record_key=KEY,
        upload_url="https://store/x",
    )


def test_the_collector_reads_back_what_was_planned() -> None:
    data = the_secret()["data"]
    assert isinstance(data, dict)
    content = {key: base64.b64decode(text) for key, text in data.items()}
    planned = gzip.decompress(content[names.SECRET_PLANNED_BLOCK])
    assert PlannedBlock.model_validate_json(planned) == PLANNED
    assert content[names.SECRET_RECORD_KEY].decode() == KEY
    assert content[names.SECRET_UPLOAD_URL] == b"https://store/x"


def test_it_is_the_same_each_time_and_goes_with_its_job() -> None:
    secret = the_secret()
    assert secret == the_secret()
    assert secret["immutable"] is True
    metadata = secret["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["name"] == names.job_name(ATTEMPT)
    assert metadata["ownerReferences"][0]["uid"] == "job-uid"
    assert names.attempt_of(metadata["labels"]) == ATTEMPT


def test_how_much_too_large_a_block_is() -> None:
    assert minting.excess(PLANNED, KEY) < 0
    # Random letters out of 64 carry six bits each: they pack to three quarters of their number.
    letters = "".join(random.Random(1).choices(LETTERS, k=900_000))  # noqa: S311 - repeats
    first, second, *_ = PLANNED.arms
    arms = (
        first.model_copy(update={"source": letters}),
        second.model_copy(update={"source": letters[::-1]}),
    )
    large = PLANNED.model_copy(update={"arms": arms})
    excess = minting.excess(large, KEY)
    assert excess > 200_000
    assert excess == len(minting.packed(large)) + 64 + 4_096 - (1 << 20)
