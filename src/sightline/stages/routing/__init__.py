"""Which routing is in force, what it is fitted to, and who has what by it."""
