"""What a profile comes to on this machine: paths shown, hidden and protected."""
