"""A campaign on this machine: its folder, its runner processes, and the loop over its blocks."""
