"""From a ledger to one HTML file and its Markdown twin: verdict first, every figure recomputable."""
