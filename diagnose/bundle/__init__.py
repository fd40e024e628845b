"""Bundles: recordings of a machine that travel, with a manifest, and without what identifies people and machines."""
