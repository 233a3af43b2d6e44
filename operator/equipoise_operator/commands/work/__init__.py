"""What the commands do: loaded only when they run, for the statistics take a second to load."""
