"""Everything around the protocol that touches the world: command line, local runs, stores, reports.

It reads the world, asks the protocol, and writes the world. It never computes a verdict of its own.
"""
