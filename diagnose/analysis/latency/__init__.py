"""Latency of requests: how it is distributed, when it is slow, and what it goes along with. See docs/latency.md."""
