"""Sessions on disk: what happened in a walk from symptom to fix, line by line, so that a kill loses nothing."""
