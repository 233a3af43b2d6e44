"""Kernel tasks in KernelBench's format."""
