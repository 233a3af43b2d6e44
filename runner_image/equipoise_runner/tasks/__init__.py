"""One folder for each kind of task."""
