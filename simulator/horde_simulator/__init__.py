"""A simulated AI Horde: users, workers and jobs in a world without a clock or a socket."""
