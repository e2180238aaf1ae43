"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import settings

# The workers of a run fill the cache together; nobody needs to compile ahead for them.
os.environ.setdefault("SEPSET_WARM", "0")

# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile("sepset", deadline=None)
settings.load_profile("sepset")
