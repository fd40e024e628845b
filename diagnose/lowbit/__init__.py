"""Low-precision tensors and checkpoints beside their reference: reading, metrics, depth, readings of weights.

Nothing here needs a deep-learning framework. Thresholds that blame something stand in the rules; what is here measures.
"""
