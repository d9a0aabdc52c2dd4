"""Every registered index is enrolled in the checks that outside ones run too."""

from __future__ import annotations

import pytest

from sightline.index.registry import NEAREST_INDEXES, OBJECT_INDEXES, STANDING_INDEXES
from sightline.testing.nearest_indexes import NEAREST_CHECKS
from sightline.testing.object_indexes import OBJECT_CHECKS
from sightline.testing.standing_indexes import RANGE_CHECKS

ENROLLED = [
    pytest.param(check, registry, name, id=f"{kind}-{name}-{check.__name__}")
    for kind, registry, checks in (
        ("range", STANDING_INDEXES, RANGE_CHECKS),
        ("nearest", NEAREST_INDEXES, NEAREST_CHECKS),
        ("objects", OBJECT_INDEXES, OBJECT_CHECKS),
    )
    for name in sorted(registry)
    for check in checks
]


@pytest.mark.parametrize(("check", "registry", "name"), ENROLLED)
def test_conforms(check, registry, name):
    check(registry[name])
