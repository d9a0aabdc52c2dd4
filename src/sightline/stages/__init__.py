"""The five verbs as pure functions over batches: read, route, work, merge, write (commit); and search over the store.

Nothing here knows Spark. A micro-batch is a :class:`~sightline.stages.job.Job` (paths and integers) and Arrow batches:

* `read`: rows -> objects and rejects
* `route`: objects -> packets for workers
* `work`: packets -> matches, candidates, counts, segments
* `merge`: what must be put together across workers, by subscription
* `batch`: plan -> job -> commit, exactly once
* `compact`: log-structured merging, off the critical path
* `search`: snapshot queries in the caller's process

`inline` runs a job in one process; `sightline.spark.pipeline` runs the same functions as Spark stages.
"""
