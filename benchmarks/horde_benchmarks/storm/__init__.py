"""The storm: the whole front against the simulated Horde, with faults at any instant, from a seed.

    python -m horde_benchmarks.storm --seeds 2000

It lies outside the packages that are shipped: it tests them, and neither the core nor the simulator
may know it.  Nothing in `plan`, `run` and `invariants` waits, reads a clock or opens anything.
"""
