"""The only folder that knows Spark: session, sources, the pipeline on one screen, runs."""
