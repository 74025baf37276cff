"""The soak's short form; the long one is run by hand, its figures in docs/explanation/load.md."""

from pathlib import Path

import pytest

from deployment.rig import NGINX
from deployment.soak import soak
from everything import takes_a_minute

pytestmark = [
    takes_a_minute,
    pytest.mark.skipif(NGINX is None, reason="nginx isn't installed"),
]


def test_nothing_is_lost(tmp_path: Path) -> None:
    """200 streams through nginx and two fronts for 20 s, three clients in ten leaving."""
    result = soak(200, 20.0, tmp_path, longest=150)
    assert result.losses() == []
    assert result.most_open >= 150
    assert result.endings["left"] >= 50
    assert result.cancels >= 50
    assert result.endings["served"] >= 150
