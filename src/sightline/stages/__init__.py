"""What happens to a batch, a subscription and a search: pure functions over Arrow batches, and the protocol around.

Nothing here knows Spark. `batch` is the order that makes results exactly-once: plan, job, commit (`repeated`: one that
comes again); `inline` runs a job in one process, `sightline.spark.pipeline` runs the same functions as Spark stages;
`warm` compiles what both need. The rooms, from the top; each imports only those below it:

* `upkeep`: merging of files beside the batches
* `flow`: the way of an object, route -> work -> merge
* `search`: snapshot queries in the caller's process
* `routing`: which routing is in force, and what it is fitted to
* `results`: result tables, what is reported and counted
* `registered`: subscriptions, from a request to the files of a worker
* `exchange`: what travels: jobs, parcels, packets, rows as they are read, mapped files
"""
