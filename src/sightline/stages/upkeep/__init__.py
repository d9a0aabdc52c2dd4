"""Beside the batches: merging of files, and the thread that does it."""
