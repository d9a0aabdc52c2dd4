"""Text-Rout (Tornado section 5, baseline 3): keywords of objects and queries are hashed to evaluators.

The paper gives the hashing only. Ours: a conjunct stands with the evaluator of one keyword, the rarest, as in
Tornado's textual summaries (section 3.1), and not with those of all its keywords; a history serves to know which is
the rarest, and moves no term.
"""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I32, frozen
from sightline.partition.history import History
from sightline.partition.terms._kernels import all_hashed_to
from sightline.partition.terms.routing import TermRouting
from sightline.partition.terms.vocabulary import Vocabulary

__all__ = ["TextRoutRouting"]


class TextRoutRouting(TermRouting):
    """Terms hashed to workers."""

    @classmethod
    def deal(cls, vocabulary: Vocabulary, history: History, workers: int) -> I32:
        return all_hashed_to(frozen(vocabulary.hashes, np.int64), workers)
