"""Hypothesis without a deadline: no test here depends on how fast this machine happens to be."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
