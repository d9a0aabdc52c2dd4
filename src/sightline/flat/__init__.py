"""The floor under everything: flat arrays, Arrow columns over them, bytes without copies. No words of the domain."""
