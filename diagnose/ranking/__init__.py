"""From matches to probabilities: evidence for and against, consequences beneath their roots, the next best check."""
