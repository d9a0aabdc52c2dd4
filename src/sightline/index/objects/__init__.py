"""Objects wait for queries: the index of a sealed segment, and the segment itself.

* :mod:`postings`: objects along a space-filling curve with postings per term; :mod:`scan`: the reference.
* :mod:`segment`: index, terms and Arrow columns as one set of arrays; building, reading, merging.
"""
