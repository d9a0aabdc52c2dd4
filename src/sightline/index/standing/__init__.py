"""Standing queries wait for objects.

* :mod:`block`: many queries as flat arrays, from objects (:mod:`bulk`) or from a table, with compiled
  :mod:`keywords`.
* :mod:`levels`: range queries, by default; :mod:`gi2`: their baseline; :mod:`entries`: what the two share.
* :mod:`fast`: range queries, in a :mod:`pyramid`; :mod:`delta`: the same, mutable, for those registered since the base.
* :mod:`inverted`: nearest queries; :mod:`scan`: the reference of all.
* :mod:`panes`: which windows of a top-terms query share which counts.

An object's terms are translated into the block's once per distinct term; kernels then work on dense ids.
"""
