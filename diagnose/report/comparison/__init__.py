"""Two results of one machine or job compared: what changed, and whether it is better, worse, or not shown."""
