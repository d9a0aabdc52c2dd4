"""Postings along a curve: the default index of a segment.

* :mod:`index`: the reader and what is built; ``_kernels``: cover of a rectangle, conjuncts, range search.
* :mod:`build`, :mod:`nearest`, :mod:`top_terms`: kernels of one purpose each.
"""

from sightline.index.objects.postings.index import PostingsIndex

__all__ = ["PostingsIndex"]
