"""The measurement protocol: frozen models and pure decisions.

Read by the command line, the stores and the reports; the runner reads a few of its models. Nothing
in this package reads a file, a clock or the environment. Time, seeds and randomness come in as
arguments.

This module re-exports nothing: importing a name here would load the modules that judge into the
process beside the candidate. The version stands in `equipoise_protocol.version`.
"""
