"""The terminal interface: the walk from a symptom to a fix that is verified.

`model` is the walk as plain data, without Textual; `jobs` does what takes time, in threads; `screens` shows and asks;
`widgets` are the parts that several screens share.
"""
