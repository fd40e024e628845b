"""From which probabilities on a cause counts. Apart from the model, whose parts take long to load."""

ESTABLISHED = 0.5
"""From this probability on a cause counts as found: it decides exit codes and explains its consequences."""

SUSPECTED = 0.1
"""Below this probability a cause is not put forward."""
