"""Who waits for input on a terminal."""
