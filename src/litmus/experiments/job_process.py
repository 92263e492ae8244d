"""A process that does one job: `python -m litmus.experiments.job_process`, started by `process.py`.

It reads what it is for from its first line of input, and says why it failed, if it does, through
the descriptor that it was given. It ends with the process that started it, leaving its job so that
it can go on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from litmus.errors import BadInput, RunFailed
from litmus.experiments.jobs import build_job
from litmus.rollouts.pipes import write_all

DONE, FAILED, INTERRUPTED = 0, 1, 130
SECONDS_BETWEEN_LOOKS = 1.0


def main() -> int:
    told = int(sys.argv[1])
    threading.Thread(target=_stop_with, args=(os.getppid(),), daemon=True).start()
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        return INTERRUPTED  # whoever started it is gone
    order = json.loads(line)
    sys.path += [path for path in order["path"] if path not in sys.path]
    sys.argv[:] = order["command"]  # what provenance tells of
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it may clear up what it began
    try:
        build_job(order["job"]).work(Path(order["folder"]))
    except (BadInput, RunFailed) as error:
        if isinstance(error, RunFailed) and error.traceback:  # of the user's own code
            print(error.traceback, file=sys.stderr)
        return _fail(told, error.for_shell)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        return _fail(told, f"{type(error).__name__}: {error}")
    return DONE


def _fail(told: int, reason: str) -> int:
    reason = " ".join(reason.split())
    print(f"litmus: {reason}", file=sys.stderr)
    write_all(told, reason.encode())
    return FAILED


def _stop_with(starter: int) -> None:
    """As Ctrl-C would: with a checkpoint."""
    while os.getppid() == starter:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
