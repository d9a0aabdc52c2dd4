"""Text to terms.

A column of texts becomes a :class:`TermBatch`: for each row the numbers of its distinct terms, ascending, in a
:class:`TermDictionary` of the batch. There is no global dictionary: two batches are brought together by hashes, and
where a hash hits the strings are compared once per distinct term. What a term is, is defined in plain Python by
:func:`sightline.model.terms.terms_of`; :func:`tokenise` says the same from Arrow's buffers, more than
twenty times as fast (`sightline bench tokenise`).
"""

from sightline.text.dictionary import TermDictionary
from sightline.text.term_batch import TermBatch
from sightline.text.tokeniser import tokenise
from sightline.text.utf8 import valid_utf8

__all__ = ["TermBatch", "TermDictionary", "tokenise", "valid_utf8"]
