"""Builds everything that the test cluster is made of, and starts nothing.

    python -m cluster.prepare

Run by `.ci/run` beside the API tier, which mostly waits, so that the e2e tier finds its programs
and the runner's image.
"""

from __future__ import annotations

from cluster import images, programs

if __name__ == "__main__":
    images.runner_store(programs.build())
