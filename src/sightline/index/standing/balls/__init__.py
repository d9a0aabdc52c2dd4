"""Grid and inverted file over kNN balls (DkM-SKS section 4.3, SSTD section 6)."""

from sightline.index.standing.balls.index import BallsIndex
from sightline.index.standing.balls.state import NearestState

__all__ = ["BallsIndex", "NearestState"]
