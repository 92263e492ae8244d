"""Convolutional policies: many at once answer as each would alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import architecture_from_json, architecture_to_json
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation, evaluate_modules, flatten
from litmus.tasks.base import ContinuousActions, DiscreteActions

CLASSES = ActionHead("categorical", DiscreteActions(3))
SHAPES = {
    "grey": CnnArchitecture((7, 6), CLASSES),
    "scaled": CnnArchitecture((7, 6), CLASSES, convolution_scale=0.3),
    "colours": CnnArchitecture((3, 6, 6), CLASSES, channels=(2,), kernel_size=2),
    "three convolutions": CnnArchitecture((8, 8), CLASSES, channels=(2, 3, 4)),
    "no convolution": CnnArchitecture((4, 5), CLASSES, channels=()),
    "deterministic": CnnArchitecture(
        (6, 6), ActionHead("deterministic", ContinuousActions((-2.0,), (1.0,))), channels=(3,)
    ),
}


def sample(architecture: CnnArchitecture) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = 0.5 * torch.randn(4, architecture.num_params, generator=generator)
    images = torch.randn(5, *architecture.state_shape, generator=generator)
    return rows.double(), images.double()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_population_is_torch_func_on_the_module(shape: str) -> None:
    """Values and gradients, towards policies and images; in float64 rounding is out of the way."""
    architecture = SHAPES[shape]
    found = []
    torch.set_default_dtype(torch.float64)
    try:
        for way in (
            lambda rows, images: FlatPopulation(architecture, rows).actions(images),
            lambda rows, images: evaluate_modules(architecture, rows, images),
        ):
            rows, images = (one.requires_grad_() for one in sample(architecture))
            actions = way(rows, images)
            weights = torch.linspace(-1, 1, actions.numel()).view(actions.shape)
            found.append((actions, *torch.autograd.grad((weights * actions).sum(), [rows, images])))
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_the_papers_network_has_its_number_of_parameters() -> None:
    head = ActionHead("categorical", DiscreteActions(10))
    architecture = CnnArchitecture((28, 28), head)
    # 4 kernels of 3 × 3, 8 of 4 × 3 × 3, and 24 × 24 pixels of 8 channels to 10 classes
    assert architecture.num_params == (4 * 9 + 4) + (8 * 36 + 8) + (10 * 24 * 24 * 8 + 10)
    assert sum(p.numel() for p in architecture.build().parameters()) == architecture.num_params


def test_networks_start_alike_with_any_scale_and_within_their_bounds() -> None:
    outputs, images = [], torch.rand(3, 7, 6)
    for scale in (1.0, 0.25):
        architecture = CnnArchitecture((7, 6), CLASSES, convolution_scale=scale)
        torch.manual_seed(3)
        network = architecture.build()
        outputs.append(network(images).detach())
        pieces = torch.split(flatten(network), architecture.shape.sizes)
        for piece, bound in zip(pieces, architecture.shape.initial_bounds, strict=True):
            assert piece.abs().max() <= bound * (1 + 1e-6)
        assert pieces[2].abs().max() > 0.8 * architecture.shape.initial_bounds[2]
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("channels", [(4, 6), (3,), (1,)])
def test_of_two_paired_filters_one_answers_where_the_other_is_silent(channels) -> None:
    network = CnnArchitecture((7, 6), CLASSES, channels=channels, paired_filters=True).build()
    images = torch.randn(5, 1, 7, 6)
    for convolution in network.convolutions:
        answers, half = convolution(images), convolution.weight.shape[0] // 2
        torch.testing.assert_close(answers[:, half : 2 * half], -answers[:, :half])
        assert not convolution.bias.any()
        images = torch.relu(answers)


@pytest.mark.parametrize(
    ("shape", "options", "words"),
    [
        ((5,), {}, "is for images"),
        ((4, 9), {}, "leave nothing of an image of 4 × 9"),
        ((9, 9), {"kernel_size": 10}, "leave nothing"),
    ],
)
def test_states_that_no_convolution_fits_are_refused(shape, options, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        CnnArchitecture(shape, CLASSES, **options)


def test_a_policy_is_read_back_as_it_was_written(tmp_path) -> None:
    architecture = SHAPES["scaled"]
    assert architecture_from_json(architecture_to_json(architecture)) == architecture
    normalizer = Normalizer(np.full(42, 0.3), np.full(42, 2.0))
    policy = Policy(architecture, flatten(architecture.build()), normalizer)
    policy.save(tmp_path / "policy.safetensors")
    images = torch.rand(4, 7, 6)
    assert torch.equal(Policy.load(tmp_path / "policy.safetensors")(images), policy(images))


def test_images_with_their_channels_behind_are_refused() -> None:
    with pytest.raises(BadInput, match="channels before height and width"):
        CnnArchitecture((96, 96, 3), CLASSES, channels=(4,))
    CnnArchitecture((3, 96, 96), CLASSES, channels=(4,))
