"""Small pieces of the compiled loop that must be numpy's, bit for bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from litmus.native.library import find_address, find_library


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
def test_clipping_is_numpys_for_zeros_with_a_sign_and_for_what_is_no_number() -> None:
    inf, nan = np.inf, np.nan
    values = [nan, -inf, -2.0, -1.0, -1e-45, -0.0, 0.0, 1e-45, 0.5, 1.0, 2.0, inf]
    bounds = [(-1.0, 1.0), (0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0), (-inf, inf)]
    bounds += [(0.0, -0.0), (-0.0, 0.0), (0.5, 0.5), (0.0, inf), (-inf, -0.0)]
    cases = [(x, low, high) for x, (low, high) in itertools.product(values, bounds)]
    x, low, high = np.array(cases, dtype=np.float32).T.copy()
    found = np.empty_like(x)
    library = find_library()
    assert library is not None
    library.clip(len(x), *map(find_address, (x, low, high, found)))
    assert found.tobytes() == np.clip(x, low, high).tobytes()
