"""What the cluster's objects are called and what they say. Pure: no clock, no network."""
