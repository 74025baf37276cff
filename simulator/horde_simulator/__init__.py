"""A simulated AI Horde: a world of users, workers and jobs that runs without a clock or a socket."""
