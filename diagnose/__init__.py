"""Rule-based troubleshooting for GPU servers and clusters: symptoms in, ranked and explained causes out."""

__version__ = "0.1.0"
