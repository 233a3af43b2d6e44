"""A campaign, wherever it is measured: what comes next, how far it is. Pure."""
