"""Access to a cluster's API server, for the controller and the validator. Decides nothing."""
