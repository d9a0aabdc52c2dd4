"""Terms put together by what they occur with.

``nets`` are the sets of terms that want to be on one worker: those of an object, and the keys of a query. Two ways to
group terms so that few nets are spread over many workers while loads stay even: ``hypergraph`` cuts few nets,
``metric`` gathers terms around seeds by the cosine of what they occur in. ``balance`` says how even.
"""
