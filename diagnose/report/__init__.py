"""What people and programs read: the report as data, and as text."""
