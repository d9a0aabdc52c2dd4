"""Measurements anyone can repeat with one command: ``sightline bench NAME --json``.

``registry`` names them; each is a module with ``run(**params)`` that measures the product and its yardstick in the
same run, on the same rows, and returns their ratio: a ratio travels between machines, a rate does not. ``machine``
says what it ran on.
"""
