"""The spatial pyramid that `delta` and `fast` keep their queries in: grids of 1, 4, 16, ... cells over one space."""
