"""What the front, its parts and the simulated Horde cost, beside baselines of the same run."""
