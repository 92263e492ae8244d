"""How far float32 may be from the exact result: bounds that follow from the sizes, not from luck.

A `Bounded` is what exact arithmetic gives (in float64, whose own rounding is 2⁻²⁹ of what follows)
and a bound on how far any float32 program that computes the same formula can be from it. Each
operation adds its rounding to the errors of its operands, so a network written with them carries
its own bound along: running error analysis, as in Higham, Accuracy and Stability of Numerical
Algorithms, chapters 2 and 3. With u = 2⁻²⁴ and γ_n = n u / (1 - n u), operands a ± α and b ± β, and
|â| ≤ |a| + α for what float32 holds in the place of a, the errors are at most

    a + b         α + β                              + u (|a + b| + α + β)
    a b           |a| β + α (|b| + β)                + u (|a| + α) (|b| + β)
    Σ a_i b_i     Σ |a_i| β_i + α_i (|b_i| + β_i)    + γ_n Σ (|a_i| + α_i) (|b_i| + β_i)
    a / b         (α + |a / b| β) / (|b| - β)        + u times the largest that it can be
    √a            to the ends of √[a - α, a + α]     + u times the largest that it can be
    tanh a        σ α                                + ρ (|tanh a| + σ α)
    softplus a    its slope at a + α times α         + 16 u (softplus a + the former)
    sigmoid a     α / 4                              + 16 u (sigmoid a + α / 4)
    relu a        α, and 0 where a + α ≤ 0
    its slope     0, and 1 where |a| ≤ α > 0: there, either side of the kink is right

σ is the steepest slope of tanh in [a - α, a + α]. ρ is the largest relative error of a tanh: 5e-7
for the kernels' own (kernels_template.h), four units in the last place for numpy's and torch's,
which is less. In a sum of n products each term is rounded at most n times, in whatever order they
are added up and with or without fused products: γ_n holds for every kernel, library and processor.
What underflows is lost: at most 2⁻¹²⁶ a product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from litmus.policies.actions import LOG_STD_RANGE, ActionHead

UNIT = 2.0**-24
SMALLEST = 2.0**-126
TANH = 5e-7
EXP_ROUNDINGS = 8
"""Units u by which an exponential may be wrong: four in the last place."""


def gamma(count: int) -> float:
    return count * UNIT / (1 - count * UNIT)


@dataclass(frozen=True)
class Bounded:
    value: Tensor
    error: Tensor

    @property
    def most(self) -> Tensor:
        """The largest that it may be in float32, without its sign."""
        return self.value.abs() + self.error

    def __add__(self, other: Bounded | float) -> Bounded:
        other = exactly(other)
        value, carried = self.value + other.value, self.error + other.error
        return Bounded(value, carried + UNIT * (value.abs() + carried))

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __sub__(self, other: Bounded | float) -> Bounded:
        return self + -exactly(other)

    def __mul__(self, other: Bounded | float) -> Bounded:
        other = exactly(other)
        carried = self.value.abs() * other.error + self.error * other.most
        rounding = UNIT * self.most * other.most + SMALLEST
        return Bounded(self.value * other.value, carried + rounding)

    def __truediv__(self, other: Bounded) -> Bounded:
        value, least = self.value / other.value, other.value.abs() - other.error
        carried = (self.error + value.abs() * other.error) / least
        error = carried + UNIT * (value.abs() + carried) + SMALLEST
        return Bounded(value, torch.where(least > 0, error, torch.inf))

    def __getitem__(self, index: object) -> Bounded:
        return Bounded(self.value[index], self.error[index])

    def reshape(self, *sizes: int) -> Bounded:
        return Bounded(self.value.reshape(*sizes), self.error.reshape(*sizes))

    def sum(self, dim: int) -> Bounded:
        rounding = gamma(self.value.shape[dim]) * self.most.sum(dim)
        return Bounded(self.value.sum(dim), self.error.sum(dim) + rounding)

    def sqrt(self) -> Bounded:
        value, high = self.value.sqrt(), (self.value + self.error).sqrt()
        low = (self.value - self.error).clamp(min=0).sqrt()
        return Bounded(value, torch.maximum(high - value, value - low) + UNIT * high)

    def tanh(self) -> Bounded:
        value, nearest = self.value.tanh(), (self.value.abs() - self.error).clamp(min=0)
        carried = (1 - nearest.tanh().square()) * self.error
        return Bounded(value, carried + TANH * (value.abs() + carried) + SMALLEST)

    def relu(self) -> Bounded:
        error = torch.where(self.value + self.error <= 0, 0.0, self.error)
        return Bounded(self.value.relu(), error)

    def step(self) -> Bounded:
        """The slope of relu."""
        at_the_kink = (self.value.abs() <= self.error) & (self.error > 0)
        return Bounded((self.value > 0).double(), at_the_kink.double())

    def softplus(self) -> Bounded:
        value = torch.nn.functional.softplus(self.value, threshold=1000)
        carried = (self.value + self.error).sigmoid() * self.error
        rounding = 2 * EXP_ROUNDINGS * UNIT * (value + carried)
        return Bounded(value, carried + rounding + SMALLEST)

    def sigmoid(self) -> Bounded:
        """The slope of softplus."""
        value, carried = self.value.sigmoid(), self.error / 4
        return Bounded(value, carried + 2 * EXP_ROUNDINGS * UNIT * (value + carried) + SMALLEST)

    def softmax(self) -> Bounded:
        """A shift of all exponents alike cancels. Beside it, each is wrong by ε = α + u |a - c|, c
        the largest; their exponentials by e^ε and their own rounding; so are their sum, which is
        rounded n times more, and the quotient."""
        value, alpha = self.value.softmax(-1), self.error.amax(-1, keepdim=True)
        spread = self.value.amax(-1, keepdim=True) - self.value
        epsilon = (alpha + UNIT * (spread + 2 * alpha)).amax(-1, keepdim=True)
        roundings = gamma(self.value.shape[-1] + 1 + 3 * EXP_ROUNDINGS)
        return Bounded(value, value * ((2 * epsilon).exp() * (1 + roundings) - 1) + SMALLEST)


def exactly(value: Bounded | Tensor | float) -> Bounded:
    """What float32 holds as it is."""
    if isinstance(value, Bounded):
        return value
    value = torch.as_tensor(value).detach().double()
    return Bounded(value, torch.zeros_like(value))


def rounded(value: float) -> Bounded:
    """A number that float32 rounds."""
    exact = torch.tensor(value, dtype=torch.float64)
    return Bounded(exact, UNIT * exact.abs())


def concatenate(parts: Sequence[Bounded]) -> Bounded:
    """Along the last axis."""
    values, errors = zip(*((part.value, part.error) for part in parts), strict=True)
    return Bounded(torch.cat(values, -1), torch.cat(errors, -1))


def contract(equation: str, a: Bounded, b: Bounded, plus: Bounded | None = None) -> Bounded:
    """`torch.einsum(equation, a, b) + plus`."""
    inputs, output = equation.split("->")
    first, second = inputs.split(",")
    sizes = dict(zip(first, a.value.shape, strict=True))
    sizes |= dict(zip(second, b.value.shape, strict=True))
    terms = math.prod(size for axis, size in sizes.items() if axis not in output)

    def add_up(one: Tensor, other: Tensor) -> Tensor:
        return torch.einsum(equation, one, other)

    value, most = add_up(a.value, b.value), add_up(a.most, b.most)
    error = add_up(a.value.abs(), b.error) + add_up(a.error, b.most)
    if plus is not None:
        terms += 1
        value, most, error = value + plus.value, most + plus.most, error + plus.error
    return Bounded(value, error + gamma(terms) * most + terms * SMALLEST)


class Perceptrons:
    """B networks [B, P] in the same K inputs [K, D]: outputs [B, K, A]."""

    def __init__(
        self,
        layer_sizes: Sequence[tuple[int, int]],
        activation: str,
        flat: Bounded | Tensor,
        inputs: Bounded | Tensor,
    ) -> None:
        flat, x, offset = exactly(flat), exactly(inputs), 0
        x = Bounded(*(part.expand(len(flat.value), -1, -1) for part in (x.value, x.error)))
        self.inputs, self.weights, self.biases, self.slopes = [], [], [], []
        for width, outputs in layer_sizes:
            end = offset + width * outputs
            self.inputs.append(x)
            self.weights.append(flat[:, offset:end].reshape(-1, outputs, width))
            self.biases.append(flat[:, None, end : end + outputs])
            self.outputs = contract("bki,boi->bko", x, self.weights[-1], plus=self.biases[-1])
            offset = end + outputs
            if activation == "tanh":
                x = self.outputs.tanh()
                self.slopes.append(-(x * x) + 1.0)
            else:
                x = self.outputs.relu()
                self.slopes.append(self.outputs.step())

    def go_back(self, gradient: Bounded | Tensor) -> tuple[Bounded, Bounded]:
        """From the gradient of the outputs to that of the parameters [B, P], and of the inputs,
        summed over the networks [K, D]."""
        gradient, pieces, self.gradients = exactly(gradient), [], []
        for number in reversed(range(len(self.weights))):
            self.gradients.insert(0, gradient)
            of_weights = contract("bko,bki->boi", gradient, self.inputs[number])
            pieces += [gradient.sum(1), of_weights.reshape(len(of_weights.value), -1)]
            if number > 0:
                below = contract("bko,boi->bki", gradient, self.weights[number])
                gradient = below * self.slopes[number - 1]
        return concatenate(pieces[::-1]), contract("bko,boi->ki", gradient, self.weights[0])

    def find_largest_sum(self) -> float:
        """Of absolute values, both ways: below 2²⁴, sums of integers are exact in any order."""
        largest = 0.0
        for layer in zip(self.inputs, self.weights, self.biases, self.gradients, strict=True):
            x, weights, bias, gradient = (part.value.abs() for part in layer)
            for sums in (
                torch.einsum("bki,boi->bko", x, weights) + bias,
                torch.einsum("bko,bki->boi", gradient, x.clamp(min=1)),  # and of the bias
                torch.einsum("bko,boi->ki", gradient, weights),
            ):
                largest = max(largest, float(sums.max()))
        return largest


class Squashed:
    """Action parameters [..., A] of raw outputs, as `ActionHead.squash` makes them."""

    def __init__(self, head: ActionHead, outputs: Bounded) -> None:
        self.is_categorical = head.distribution == "categorical"
        if self.is_categorical:
            self.actions = outputs.softmax()
            return
        bounded, sides, center, scale = (
            torch.from_numpy(part)
            for part in (head.bounded, head.sides, head.center, head.half_range)
        )
        if head.distribution == "gaussian":  # log-stds behind the means
            low, high = LOG_STD_RANGE
            half = torch.full_like(center, (high - low) / 2)
            bounded = torch.cat([bounded, torch.ones_like(bounded)])
            sides = torch.cat([sides, torch.zeros_like(sides)])
            center, scale = torch.cat([center, low + half]), torch.cat([scale, half])
        squashed, side = outputs.tanh(), outputs * exactly(sides)
        beside = choose(sides != 0, side.softplus() * exactly(sides), outputs)
        slope = choose(sides != 0, side.sigmoid(), exactly(torch.ones(())))
        self.actions = choose(bounded, squashed, beside) * exactly(scale) + exactly(center)
        self.slopes = choose(bounded, -(squashed * squashed) + 1.0, slope) * exactly(scale)

    def go_back(self, gradient: Bounded | Tensor) -> Bounded:
        """From the gradient of the actions to that of the outputs."""
        gradient = exactly(gradient)
        if not self.is_categorical:
            return gradient * self.slopes
        weighted = (gradient * self.actions).sum(-1)
        return self.actions * (gradient - weighted[..., None])


def choose(condition: Tensor, one: Bounded, other: Bounded) -> Bounded:
    return Bounded(
        torch.where(condition, one.value, other.value),
        torch.where(condition, one.error, other.error),
    )


def exceeds(found: Tensor, expected: Bounded) -> Tensor:
    """Where the bound is broken. NaN is beyond every bound."""
    slack = 1 + 1e-6  # for float64's rounding, and for u² that the rules leave out
    return ~((found.detach().double() - expected.value).abs() <= slack * expected.error)


def assert_within(found: Tensor, expected: Bounded) -> None:
    assert found.shape == expected.value.shape
    broken = exceeds(found, expected)
    if broken.any():
        one, other = float(found[broken][0]), expected[broken][0]
        raise AssertionError(
            f"{int(broken.sum())} of {broken.numel()} numbers are beyond their bounds; the first: "
            f"{one!r} instead of {float(other.value)!r} ± {float(other.error):.2g}"
        )
