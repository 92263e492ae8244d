"""States that are images, shown as images."""

from __future__ import annotations

import io
import math

import numpy as np

from litmus.reports.details import RunDetails
from litmus.reports.figures import thin
from litmus.reports.html import heading, image, paragraph, show_number, tag
from litmus.reports.render import data_uri

MOST_FRAMES = 12
STRAY = (0.01, 0.99)
"""What lies outside of these quantiles of learned pixels is shown as black or white."""
LEAST_SMOOTH = 16
"""Pixels of a side: smaller images are grids, whose cells are shown as squares."""
CARD_SIDE = 224
"""Pixels of a picture on the card of a probing state, at least."""


def is_image(shape: tuple[int, ...]) -> bool:
    """Height × width, with one or three channels first or last, or none."""
    if len(shape) == 3:
        return shape[-1] in (1, 3) or shape[0] in (1, 3)
    return len(shape) == 2


def to_picture(pixels: np.ndarray, scale: tuple[float, float] | None = None) -> np.ndarray:
    """Stretch values to 0..255, from the lowest to the highest or as `scale` says, and cut off what
    lies beyond; colours last."""
    if pixels.ndim == 3:
        if pixels.shape[-1] not in (1, 3):
            pixels = np.moveaxis(pixels, 0, -1)
        if pixels.shape[-1] == 1:
            pixels = pixels[..., 0]
    low, high = scale or (float(pixels.min()), float(pixels.max()))
    share = np.clip((pixels - low) / ((high - low) or 1.0), 0, 1)
    return np.round(255 * share).astype(np.uint8)


def find_contrast(pixels: np.ndarray) -> tuple[float, float]:
    """A scale in which a few stray pixels do not turn the others grey."""
    low, high = np.quantile(pixels, STRAY)
    if low == high:
        low, high = pixels.min(), pixels.max()
    return float(low), float(high)


def enlarge(picture: np.ndarray, least_side: int) -> np.ndarray:
    """By a whole number, to this height at least. Smoothly, since the edges of single pixels hide
    what they make up."""
    from PIL import Image

    height, width = picture.shape[:2]
    zoom = math.ceil(least_side / height)
    is_smooth = min(height, width) >= LEAST_SMOOTH
    how = Image.Resampling.BICUBIC if is_smooth else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(picture).resize((zoom * width, zoom * height), how))


def write_image(details: RunDetails, k: int) -> str:
    """A probing state that is an image; nothing where states are not."""
    assert details.probing is not None
    shape = details.state_shape
    if not is_image(shape):
        return ""
    state = details.probing.raw_states[k].reshape(shape)
    scale = find_contrast(state)
    low, high = map(show_number, scale)
    picture = enlarge(to_picture(state, scale), CARD_SIDE)
    return write_picture(picture, f"Probing state {k} as an image", "picture") + paragraph(
        f"As observed; black is {low} or less, white {high} or more.", "small"
    )


def write_use(details: RunDetails, level: int) -> str:
    """Which pixels V depends on: the image's counterpart of the bars for components."""
    shape = details.state_shape
    if details.probing is None or not is_image(shape):
        return ""
    use = details.probing.component_use.copy()
    if details.constant is not None:
        use[details.constant] = 0.0  # no state that occurs can differ there
    words = (
        "The brighter a pixel, the more V changes when that pixel of the probing states does "
        "(|∂V/∂s| through the policies, per standard deviation of the observation)."
    )
    caption = heading("Which pixels V depends on", level) + paragraph(words)
    picture = to_picture(use.reshape(shape))
    drawn = write_picture(picture, "How much V depends on each pixel", "picture pixels")
    return tag("figure", tag("figcaption", caption) + drawn, id=f"pixels-{details.key}")


def write_frames(details: RunDetails, level: int) -> str:
    """What the policy saw in one episode, as stills in the order of time."""
    behaviour, shape = details.behaviour, details.state_shape
    if behaviour is None or not is_image(shape):
        return ""
    states = behaviour.states
    scale = (float(states.min()), float(states.max()))
    stills = [
        tag(
            "div",
            write_picture(
                to_picture(states[t].reshape(shape), scale),
                f"Observation at step {t}",
                "picture pixels",
            )
            + f"step {t}",
        )
        for t in thin(len(states), MOST_FRAMES)
    ]
    caption = heading("What the policy saw", level) + paragraph(
        "Observations of one episode, in the order of time."
    )
    frames = tag("div", "".join(stills), class_="frames")
    return tag("figure", tag("figcaption", caption) + frames, id=f"frames-{details.key}")


def write_picture(picture: np.ndarray, text: str, class_: str) -> str:
    height, width = picture.shape[:2]
    return image(data_uri(to_png(picture), "image/png"), text, width, height, class_=class_)


def to_png(picture: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()
