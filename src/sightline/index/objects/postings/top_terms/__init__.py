"""Top terms: head terms by prefix counts along the curve, a bound for all others, or a direct count."""
