"""What strangers find: a site with everything switched on."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _push_on(push_on: None) -> None:
    """Have the pages of notifications exist."""
