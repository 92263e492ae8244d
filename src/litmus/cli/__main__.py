"""`python -m litmus.cli` is `litmus`."""

import sys

from litmus.cli import main

if __name__ == "__main__":
    sys.exit(main())
