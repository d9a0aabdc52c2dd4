from __future__ import annotations

from pathlib import Path

import pytest

from sightline.model.config import StoreConfig
from sightline.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store that does not sync, so that tests do not wait 20 ms per write."""
    return Store.create(tmp_path / "store", StoreConfig(), durable=False)
