"""The thin half: trio, httpx and hypercorn around the pure core and the simulated Horde."""
