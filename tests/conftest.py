"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("sepset", deadline=None)
settings.load_profile("sepset")
