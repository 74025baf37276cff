"""The plugin's fixtures, also where the distribution isn't installed."""

from horde_adapters.pytest_plugin import horde_front, simulated_horde

__all__ = ["horde_front", "simulated_horde"]
