"""The commands of `equipoise`, one module each: arguments in, an exit code out."""
