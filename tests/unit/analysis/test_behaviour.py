from __future__ import annotations

import numpy as np
import pytest
import torch

from litmus import Policy
from litmus.analysis.behaviour import run_behaviour
from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.tasks import make_task_spec


def make_policy(task: str) -> Policy:
    built = make_task_spec(task).build()
    head = ActionHead.for_task("auto", built.actions)
    architecture = MlpArchitecture(built.state_shape, head, hidden=(4,))
    flat_params = torch.linspace(-1, 1, architecture.num_params)
    return Policy(architecture, flat_params, Normalizer.identity(built.state_shape))


def test_a_trace_is_what_the_policy_saw_and_did() -> None:
    policy = make_policy("toys:ToyMatrixWalk-v0")
    behaviour = run_behaviour(make_task_spec("toys:ToyMatrixWalk-v0"), policy, seed=3)
    assert behaviour.states.shape == (4, 6)
    with torch.no_grad():
        expected = policy(torch.from_numpy(behaviour.states.reshape(4, 2, 3)).float()).numpy()
    np.testing.assert_allclose(behaviour.actions, expected, rtol=1e-5)
    # The walk pays its first action component and 0.25.
    np.testing.assert_allclose(behaviour.rewards, behaviour.actions[:, 0] + 0.25, rtol=1e-5)


def test_the_options_of_the_environment_count() -> None:
    policy = make_policy("toys:ScaledWalk")
    options = {"scale": 2.0, "length": 6}
    plain = run_behaviour(make_task_spec("toys:ScaledWalk"), policy)
    doubled = run_behaviour(make_task_spec("toys:ScaledWalk", env_kwargs=options), policy)
    assert len(doubled.rewards) == 6
    np.testing.assert_allclose(doubled.rewards[:4], 2 * plain.rewards)


def test_a_task_of_its_own_that_has_transitions_is_traced() -> None:
    behaviour = run_behaviour(
        make_task_spec("toys:CountdownTask"), make_policy("toys:CountdownTask")
    )
    assert behaviour.states[0] == 3.0
    assert behaviour.return_ >= 3.0


def test_a_task_without_steps_says_so() -> None:
    with pytest.raises(BadInput, match="no single steps"):
        run_behaviour(make_task_spec("toys:TargetTask"), make_policy("toys:TargetTask"))
