"""The operator's process: campaigns, comparisons and node classes to Jobs; judges nothing."""
