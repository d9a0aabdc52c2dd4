"""Indexes inside one worker: ``standing`` (queries wait for objects) and ``objects`` (objects wait for queries).

:mod:`~sightline.index.protocol` says what an index promises, :mod:`~sightline.index.registry` which ones there are.
Every folder has a ``scan`` that is obviously right and shares the tests with the fast ones. Frozen indexes are flat
arrays; nothing here knows files.
"""
