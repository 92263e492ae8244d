from __future__ import annotations

import pytest

from litmus.rollouts import machine


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", 1), ("3", 3), ("99", 8), ("2,1", 2), ("", 8), ("0", 8), ("many", 8), (None, 8)],
)
def test_learning_uses_no_more_cores_than_it_is_allowed(
    value: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "count_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert machine.count_learning_cores() == expected
