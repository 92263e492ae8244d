from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from litmus import Run
from litmus.analysis.behaviour import run_behaviour
from litmus.reports.render import ROLL_TITLES, CannotRender, RenderedState, Rendering
from litmus.tasks import make_task_spec

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def rendered(hopper_run: Path) -> list[RenderedState]:
    """A state that occurs, one below the floor, one that is no state at all."""
    policy = Run(hopper_run).policy
    visited = run_behaviour(make_task_spec("Hopper-v5"), policy).states[0]
    fallen = visited.copy()
    fallen[0] = 0.2
    nonsense = np.full_like(visited, np.nan)
    states = np.stack([visited, fallen, nonsense])
    try:
        return Rendering("Hopper-v5", policy, states, np.stack([visited] * 3)).result()
    except CannotRender as error:
        pytest.skip(str(error))


def test_a_state_that_occurs_is_rolled_three_ways(rendered: list[RenderedState]) -> None:
    state = rendered[0]
    assert state.problem is None
    assert state.nearest is None
    assert list(state.rolls) == list(ROLL_TITLES)
    for roll in state.rolls.values():
        with Image.open(io.BytesIO(roll.animation)) as animation:
            assert animation.format == "WEBP"
            assert animation.n_frames > 5
        with Image.open(io.BytesIO(roll.strip)) as strip, Image.open(io.BytesIO(roll.still)) as one:
            assert strip.width == 6 * (one.width // 2)


def test_what_the_policy_does_can_be_seen(rendered: list[RenderedState]) -> None:
    rolls = rendered[0].rolls
    assert rolls["policy"].animation != rolls["nothing"].animation
    assert rolls["policy"].still == rolls["nothing"].still  # all start in the same state


def test_a_state_that_the_environment_would_end_is_marked(rendered: list[RenderedState]) -> None:
    state = rendered[1]
    assert state.problem is not None
    assert "floor" in state.problem or "ends an episode" in state.problem
    assert state.can_be_set
    assert state.nearest is not None


def test_a_state_that_cannot_be_set_starts_from_the_nearest_visited(
    rendered: list[RenderedState],
) -> None:
    state = rendered[2]
    assert state.problem == "a component is not a finite number"
    assert not state.can_be_set
    assert state.nearest is not None
    assert len(state.rolls) == 3


def test_a_task_without_a_renderer_says_so_at_once(cartpole_run: Path) -> None:
    policy = Run(cartpole_run).policy
    with pytest.raises(CannotRender, match="no renderer"):
        Rendering("CartPole-v1", policy, np.zeros((1, 4)), None)
