"""Nearest rows: best first over the quadtree that the curve implies."""
