"""The part that runs beside student code; it imports nothing of the trusted side."""
