"""Building: curve order, lists, postings, head bits, prefix counts and tail maxima."""
