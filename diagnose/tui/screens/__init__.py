"""One module for each step of the walk, and for what opens above it."""
