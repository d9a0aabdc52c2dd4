"""The command ``sightline``: one module per command, all of them thin.

A command turns arguments into calls of the façade (``sightline.open`` and what it returns) and rows into text. It
decides nothing about meaning: a bad query fails in the same place, with the same message, as in Python.

* ``app`` lists the commands; ``failures`` maps error classes to exit codes and prints the one line on stderr.
* ``options`` holds the arguments several commands share and opens the store behind them, ``query_options`` those that
  spell a query.
* ``output`` prints rows as tables or JSON.
* ``totals`` counts what was committed, ``progress_log`` keeps the durations of batches.
* ``demo`` is spread over ``demo`` (the order of events), ``demo_scenes`` (what is asked), ``demo_view`` (the screen)
  and ``demo_summary`` (what was committed); ``doctor`` over ``doctor`` and ``doctor_checks``.

With ``--json`` a command prints one document, or one per line where results keep coming (``run``, ``watch``).
"""
