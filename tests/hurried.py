"""`python -m hurried …` is `litmus …` with less patience when it is told to stop."""

import sys

from litmus.cli import main
from litmus.training import interrupts

interrupts.SECONDS_FOR_THE_ROUND = interrupts.SECONDS_TO_STOP = 0.5

if __name__ == "__main__":
    sys.exit(main())
