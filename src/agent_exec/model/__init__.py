"""Pure data and decisions: what was asked, what may happen, how it ended."""
