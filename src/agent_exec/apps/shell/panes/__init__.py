"""The parts of the screen of `/shell`."""
