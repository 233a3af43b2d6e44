"""Plots of the report: each module is one pure function from a few numbers to an SVG string."""
