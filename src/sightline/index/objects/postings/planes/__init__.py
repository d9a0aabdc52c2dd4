"""Rows of frequent terms as bits along the curve."""
