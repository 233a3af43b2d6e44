"""The strongest sandbox that this process can make.

Called by the launcher once, before any run. Which one it is stands in the record, as the grade of
separation (`collector.link`).
"""

from __future__ import annotations

from pathlib import Path

from equipoise_runner.bench import container, ordinary, separate
from equipoise_runner.bench.prepared_cache import PreparedCaches
from equipoise_runner.bench.sandbox import Sandbox


def best_sandbox(cache: Path) -> Sandbox:
    """The strongest kind, its prepared caches in `cache`.

    Called when torch has been imported, since what an arm must see follows from that.
    """
    caches = PreparedCaches(cache)
    if separate.possible():
        return separate.Separate(caches)
    if container.possible():
        return container.Container.found(caches)
    return ordinary.Ordinary(caches, own_user=ordinary.can_drop())
