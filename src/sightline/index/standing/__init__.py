"""Standing queries wait for objects.

* :mod:`block`: many queries as flat arrays, from objects (:mod:`bulk`) or from a table, with compiled
  :mod:`keywords`.
* :mod:`levels`: range queries, by default; :mod:`gi2`: their baseline; :mod:`entries`: what the two share.
* :mod:`fast`: range queries, in a :mod:`pyramid`; :mod:`delta`: the same, mutable, for those registered since the base.
* :mod:`balls`, over :mod:`inverted`: nearest queries; :mod:`scan`: the reference of all.
* :mod:`groups`: which top-terms queries share counts; :mod:`panes`: which of their windows do, and their sums.

An object's terms are translated into the block's once per distinct term; kernels then work on dense ids.
"""
