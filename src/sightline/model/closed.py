"""What stands where the parts of an engine were until it was closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sightline.model.errors import EngineClosed


class Closed:
    """Whatever is asked of it, the answer is that the engine is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        raise EngineClosed("the engine is closed", value=str(self.path), hint="open the store again with sl.open")
