"""`python -m equipoise_operator`: the command line, where its script is not on the search path."""

from __future__ import annotations

import sys

from equipoise_operator.cli import main

if __name__ == "__main__":
    sys.exit(main())
