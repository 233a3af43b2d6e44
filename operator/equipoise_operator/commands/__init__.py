"""The commands of `equipoise`, one module each: what they are asked. Quick to import.

`work` holds what they do, and is loaded when one of them runs: help and completion answer at once.
"""
