"""What a partition costs, by the formulas of the papers: numbers in, numbers out.

One module per paper: :mod:`~sightline.partition.cost.sstd` (Equations 1-2), :mod:`~sightline.partition.cost.tornado`
(Equations 1-3), :mod:`~sightline.partition.cost.ps2stream` (Definitions 1-2), :mod:`~sightline.partition.cost.dkm_sks`
(Equations 1-7). They take plain arrays and know no tree, grid or file; partitioners count, these weigh.

Formulas that are evaluated per object while a tree is built or an object is routed are scalar kernels in
``_kernels.py``; the modules hold their array forms and the parameters.
"""
