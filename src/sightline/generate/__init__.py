"""Synthetic posts and the queries people might ask about them.

``PostGenerator`` writes an endless stream of short texts in several languages around the world's cities: topics
that belong to places and hours, bursts, hashtags, and on demand late and malformed rows. Row *r* of a seed is the
same whatever the chunk it is asked in. ``queries`` makes range, nearest and top-terms queries from sampled posts
the way the SSTD paper does (section 7.1).
"""

from sightline.generate.posts import MALFORMED_KINDS, SCHEMA, PostGenerator
from sightline.generate.queries import nearest_queries, range_queries, top_terms_queries

__all__ = [
    "MALFORMED_KINDS",
    "SCHEMA",
    "PostGenerator",
    "nearest_queries",
    "range_queries",
    "top_terms_queries",
]
