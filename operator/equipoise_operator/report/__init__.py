"""From a ledger to one HTML file and its Markdown twin: the verdict first, details folded."""
