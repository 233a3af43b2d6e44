"""An attempt's Secret: what `collector`, and it alone, gets to measure one block.

Called by `campaign_run` once a pod is bound, after the plan is in the ledger. Pure: what it returns
is sent to the API server as it is. The content follows from the plan, but for the upload URL, which
is signed anew each time.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any, Final

from equipoise_operator.api import names
from equipoise_operator.api.names import AttemptName
from equipoise_protocol.block import PlannedBlock

LARGEST_SECRET: Final = 1 << 20
"""Bytes of all values together, as the API server has it."""
LONGEST_URL: Final = 4_096
"""Room for the upload URL: key, signature, and a session token of temporary credentials."""
COMPRESSION: Final = 9


def packed(planned: PlannedBlock) -> bytes:
    """A planned block as it stands in the Secret; the same bytes each time. Pure."""
    return gzip.compress(
        planned.model_dump_json(by_alias=True).encode(), compresslevel=COMPRESSION, mtime=0
    )


def excess(planned: PlannedBlock, record_key: str) -> int:
    """Bytes by which an attempt's Secret would be too large; zero or less: it fits. Pure."""
    return len(packed(planned)) + len(record_key) + LONGEST_URL - LARGEST_SECRET


def secret(  # noqa: PLR0913 - what stands in it, each by its name
    attempt: AttemptName,
    planned: PlannedBlock,
    *,
    namespace: str,
    job_uid: str,
    record_key: str,
    upload_url: str,
) -> dict[str, Any]:
    """The Secret of an attempt, in the API's form: owned by its Job, and gone with it. Pure."""
    name = names.job_name(attempt)
    content = {
        names.SECRET_PLANNED_BLOCK: packed(planned),
        names.SECRET_RECORD_KEY: record_key.encode(),
        names.SECRET_UPLOAD_URL: upload_url.encode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                **names.attempt_labels(attempt),
                names.LABEL_MANAGED_BY: names.VALIDATOR,
            },
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": name,
                    "uid": job_uid,
                    "blockOwnerDeletion": False,
                    "controller": True,
                }
            ],
        },
        "type": "Opaque",
        "immutable": True,
        "data": {key: base64.b64encode(value).decode() for key, value in content.items()},
    }
