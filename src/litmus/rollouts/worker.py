"""A worker process of the pool: `python -m litmus.rollouts.worker`, started by `pool.py`.

It reads what it is for from its first line of input, then claims jobs from the board until the
pool closes its input. It holds no state that matters: killed at any moment, another one runs the
same episode again. Torch is not imported unless the architecture needs it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

from litmus.policies.architecture import architecture_from_json
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.board import OWN_START, Board, BoardShape
from litmus.rollouts.episode import run_request_episode
from litmus.rollouts.failure import describe_failure, name_episode
from litmus.rollouts.pipes import read_line, write_all
from litmus.seeding import Stream
from litmus.tasks.base import Task, TaskSpec

NICENESS = 10
"""Learning comes first where cores are short: the trainer's threads wait for each other, workers
wait for no one."""

SECONDS_BETWEEN_LOOKS = 1.0


def main() -> None:
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to handle
    wake, done = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    line = read_line(wake)
    if not line.endswith(b"\n"):
        return  # the pool is gone
    order = json.loads(line)
    sys.path[:] = order["path"]
    try:
        setting = Setting(
            TaskSpec(order["task"], order["task_arguments"]),
            architecture_from_json(order["architecture"]),
            order["seed"],
        )
        board = Board(order["board"], BoardShape(**order["shape"]))
        task = setting.task.build()
        work(task, setting, board, order["worker"], wake, done)
    except BrokenPipeError:
        pass  # the pool is gone
    except BaseException as error:
        if not isinstance(error, _Told):
            _tell(done, error, "before the first one, in its worker")
        sys.exit(1)


class _Told(Exception):
    """The pool knows."""


def _tell(done: int, error: BaseException, episode: str) -> None:
    write_all(done, (json.dumps(describe_failure(error, episode)) + "\n").encode())


def _end_with(trainer: int) -> None:
    """An environment that hangs must not outlive its trainer."""
    while os.getppid() == trainer:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def work(task: Task, setting: Setting, board: Board, worker: int, wake: int, done: int) -> None:
    """Run jobs until the pool closes `wake`."""
    finished: int | None = None
    while True:
        job, is_last = board.claim(worker, finished)
        finished = None
        if is_last:
            os.write(done, b"\n")
        if job is None:
            if not os.read(wake, 4096):
                return
            continue
        slot, index = int(board.slot[job]), int(board.index[job])
        # The pool leaves a slot as it is until all of its jobs are done: no copy of θ is needed.
        request = Request(
            board.params[slot],
            Normalizer(board.mean[slot], board.std[slot]),
            float(board.noise[slot]),
            Stream(int(board.stream[slot])),
            (),
            bool(board.antithetic[slot]),
            None if board.start[slot] == OWN_START else int(board.start[slot]),
            int(board.most_steps[slot]) or None,
        )
        try:
            board.write_result(job, run_request_episode(task, setting, request, index))
        except BaseException as error:
            _tell(done, error, name_episode(request.stream, index))
            raise _Told from error
        finished = job


if __name__ == "__main__":
    main()
