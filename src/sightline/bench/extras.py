"""What benchmarks compare with or draw with, imported when it is needed: none of it is a dependency of the product."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sightline.model.errors import BadConfig


def extra(name: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise BadConfig(
            f"{name.partition('.')[0]} is not installed", hint="pip install 'sightline[bench]', the extra of benchmarks"
        ) from None
