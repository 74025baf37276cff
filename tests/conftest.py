"""One profile for all property tests: the same examples in every run, and no wall clock."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
