"""What every test relies on: a fixed time zone and Hypothesis profiles."""

from __future__ import annotations

import os
import time

from hypothesis import HealthCheck, settings

# Not UTC: a naive timestamp read in the machine's zone would go unnoticed there.
os.environ["TZ"] = "Asia/Kathmandu"
time.tzset()

# No deadline: the first call of a kernel compiles it. HYPOTHESIS_PROFILE=thorough before a release.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW)
settings.register_profile("thorough", deadline=None, suppress_health_check=_SLOW, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
