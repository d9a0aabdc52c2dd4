"""Terms found by hash, then by bytes."""
