"""The walk as plain data: what happened, where it stands, what that means. Knows nothing of any terminal."""
