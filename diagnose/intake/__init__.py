"""What every way of starting a diagnosis shares: which machine is recorded, and what its readings are called."""
