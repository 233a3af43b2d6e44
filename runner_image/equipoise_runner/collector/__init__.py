"""The trusted side: inputs, reference, outside clock, record."""
