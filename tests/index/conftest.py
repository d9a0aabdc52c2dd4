"""Makes ``index_worlds`` importable: test modules are imported by path, without packages."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
