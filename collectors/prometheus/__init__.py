"""A running Prometheus as a source: the same facts and series as from the files of the exporters that it reads."""
