"""Files and tables as sources: what they are, and what tells one from another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from sightline.model.errors import BadSource

COMMIT_ROWS = 1_000_000
TEXT_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
ALLOWED_FILES = "a pyarrow.Table, a pandas or Polars frame, or a path to .parquet, .csv, .jsonl or .geojson"


def format_of(path: Path) -> str:
    """The suffix of a file, or of the first data file of a folder; ``BadSource`` where there is nothing to read."""
    if not path.exists():
        raise BadSource("no such path", value=str(path), allowed=ALLOWED_FILES)
    if path.is_file():
        if path.stat().st_size == 0:
            hint = "a Parquet or CSV file without rows still has a header"
            raise BadSource("the file is empty", value=str(path), hint=hint)
        return path.suffix.lower()
    files = data_files(path)
    if not files:
        raise BadSource("the folder has no data files", value=str(path), allowed=ALLOWED_FILES)
    return files[0].suffix.lower()


def data_files(path: Path) -> list[Path]:
    """The file, or those of a folder by name; hidden ones are no data."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith(("_", ".")))


def file_fingerprint(source: Any) -> str:
    """A path and its size, or a table's columns and size."""
    if isinstance(source, (str, Path)):
        path = Path(source).resolve()
        files = path.rglob("*") if path.is_dir() else [path]
        return f"{path}, {sum(file.stat().st_size for file in files if file.is_file())} bytes"
    table = as_table(source)
    if table is None:
        return type(source).__name__
    return f"a table of {table.num_rows} rows, {table.nbytes} bytes, {table.schema.to_string()}"


def as_table(source: Any) -> pa.Table | None:
    """A table, or a pandas or Polars frame as one; None for anything else."""
    module = type(source).__module__.partition(".")[0]
    if module == "pandas" and hasattr(source, "columns"):
        return pa.Table.from_pandas(source, preserve_index=False)
    if module == "polars" and hasattr(source, "to_arrow"):
        return source.to_arrow()
    return source if isinstance(source, pa.Table) else None
