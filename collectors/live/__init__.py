"""Recorders: they read the machine and write raw text and JSON, and draw no conclusions.

What they write is read by the ordinary collectors, so a live machine, a bundle and a redacted bundle give the same
facts by construction. Nothing here imports facts: a recorder runs in a process of its own and must start quickly.
"""
