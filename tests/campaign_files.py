"""Campaign files for tests of the command line: a small honest one, and ways to spoil it.

The small campaign is really measurable: one shape, few calls, one attempt a block, so that a run
takes seconds on a busy machine and ends whatever it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from builders import BY_HAND, CANDIDATE, PROBLEM
from equipoise_operator.stores.sqlite.opening import open_ledger
from ledger_builders import MOMENT, PROTOCOLS, Step, chained, connection_of, put_all

Document = dict[str, Any]
Change = Callable[[Document], None]


def a_campaign_document(**design: int) -> Document:
    """A Campaign as plain data: a treatment written by hand against the library's call."""
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "Campaign",
        "metadata": {"name": "small"},
        "spec": {
            "question": "Is the version written by hand faster than the library's?",
            "nodeClasses": ["one"],
            "comparisons": [
                {
                    "name": "gelu",
                    "task": {
                        "kernel": {
                            "problem": {"configMapKeyRef": {"name": "gelu", "key": "problem.py"}},
                            "shapes": [[16, 256]],
                            "heldOutShapes": [[3, 17], [5, 40], [7, 20], [1, 100]],
                            "cache": "Warm",
                        }
                    },
                    "arms": [
                        {
                            "name": "library",
                            "role": "Baseline",
                            "baselineKind": "Honest",
                            "kernel": {
                                "source": {"configMapKeyRef": {"name": "gelu", "key": "library.py"}}
                            },
                        },
                        {
                            "name": "by-hand",
                            "role": "Treatment",
                            "kernel": {
                                "source": {"configMapKeyRef": {"name": "gelu", "key": "by_hand.py"}}
                            },
                        },
                    ],
                    "readouts": [
                        {"name": "latency", "direction": "LowerIsBetter", "rank": "Primary"}
                    ],
                }
            ],
            "design": {"blocks": 6, "warmUps": 2, "values": 20, **design},
            "retries": {"attemptsPerBlock": 1},
            "budget": {"wallClockSeconds": 3600},
        },
    }


def a_node_class_document(name: str = "one", **environment: object) -> Document:
    """A NodeClass with one thread."""
    return {
        "apiVersion": "equipoise.dev/v1alpha1",
        "kind": "NodeClass",
        "metadata": {"name": name},
        "spec": {"environment": {"threads": 1, **environment}},
    }


def a_config_map_document() -> Document:
    """The sources of the small campaign."""
    sources = {"problem.py": PROBLEM, "by_hand.py": BY_HAND, "library.py": CANDIDATE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gelu"},
        "data": sources,
    }


def a_campaign_file(folder: Path, change: Change | None = None, **design: int) -> Path:
    """The small campaign as a file.

    Args:
        folder: where to put it.
        change: what to do to the Campaign document first.
        design: fields of its design to replace.
    """
    campaign = a_campaign_document(**design)
    if change is not None:
        change(campaign)
    file = folder / "small.yaml"
    documents = [campaign, a_node_class_document(), a_config_map_document()]
    file.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    return file


def a_campaign_folder(folder: Path, steps: tuple[Step, ...]) -> Path:
    """A folder with a ledger that holds the entries of some steps."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ledger.sqlite3"
    with open_ledger(path, protocols=PROTOCOLS, clock=lambda: MOMENT) as ledger:
        put_all(connection_of(ledger), chained(steps))
    return folder
