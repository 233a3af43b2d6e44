"""A campaign on this machine, from its file to its verdicts; what was begun is gone on with.

Called by `equipoise run`. It does what `schedule.next_action` says, one thing at a time, and writes each
result down before the next: an interrupt or a crash loses at most the block under way.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import assert_never

from equipoise_operator.campaign_file import LoadedCampaign
from equipoise_operator.local import results, runner_process, schedule
from equipoise_operator.local.folder import CampaignFolder, write_atomically
from equipoise_operator.local.intake import Frozen, record_name, take_in
from equipoise_operator.local.observer import Measured, Observer
from equipoise_operator.local.opening import OpenCampaign, forget_secret, open_campaign
from equipoise_operator.local.progress import Progress, progress
from equipoise_operator.local.runner_process import NoRecordError, RunnerCall
from equipoise_operator.local.schedule import (
    Ending,
    Finish,
    MeasureBlock,
    Outcome,
    Question,
    TakeLook,
)
