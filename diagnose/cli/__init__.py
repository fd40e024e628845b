"""The command line. Each command stands in a module of its own and loads what it needs when it runs."""
