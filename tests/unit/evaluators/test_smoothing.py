import pytest
import torch

from litmus.evaluators.smoothing import blur, blur_noise


@pytest.mark.parametrize("shape", [(2, 5, 4), (2, 3, 5, 4)])
def test_blurring_gives_each_pixel_the_mean_of_those_around_it(shape: tuple[int, ...]) -> None:
    assert torch.equal(blur(point := torch.randn(shape), 0), point)
    point = torch.zeros(shape)
    point[0, ..., 2, 2] = 9.0
    expected = torch.zeros(shape)
    expected[0, ..., 1:4, 1:4] = 1.0
    torch.testing.assert_close(blur(point, 1), expected)
    torch.testing.assert_close(blur(point, 2), blur(expected, 1))


def test_pixels_give_each_other_the_same() -> None:
    pixels = torch.eye(20).view(20, 4, 5)
    given = blur(pixels, 3).view(20, 20)
    torch.testing.assert_close(given, given.T)


def test_noise_keeps_its_mean_and_contrast_when_it_is_blurred() -> None:
    noise = torch.rand(5, 9, 9, generator=torch.Generator().manual_seed(0)) + 3
    blurred = blur_noise(noise, 2)
    torch.testing.assert_close(blurred.std(), noise.std())
    assert float(blurred.mean()) == pytest.approx(float(noise.mean()), abs=0.1)


def test_an_even_image_stays_as_it_is_when_noise_is_blurred() -> None:
    even = torch.full((2, 5, 5), 0.5)
    torch.testing.assert_close(blur_noise(even, 2), even)
