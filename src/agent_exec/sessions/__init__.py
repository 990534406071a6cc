"""Sessions: runs kept open under an id, what they print made readable, and what is typed to them."""
