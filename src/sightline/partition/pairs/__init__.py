"""Pairs (row, worker) or (query, leaf) as kernels collect them: two arrays that grow, and their order by worker."""
