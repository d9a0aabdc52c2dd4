"""The way of an object: route, work, merge, each a pure function over parcels."""
