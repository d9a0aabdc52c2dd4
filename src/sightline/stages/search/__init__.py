"""Snapshot queries over the store, in the process of the caller; and the count of what was searched."""
