"""Rows of text: which kind they are of, and where their words are."""
