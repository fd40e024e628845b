"""What takes time, in threads that can be cancelled."""
