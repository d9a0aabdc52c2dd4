"""What a nearest search has in hand: cells by their bound, the best so far."""
