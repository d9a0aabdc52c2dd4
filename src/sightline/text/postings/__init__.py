"""Rows of postings: renumbered, gathered, put in order."""
