"""A stand-in for the GPU driver: a C library that answers as libnvidia-ml.so.1 from a scenario file.

It serves the tests, the demo, and trying the live commands on a machine without a GPU.
"""
