"""Walks over the tree above the blocks: the nearest rows, and counts of terms."""
