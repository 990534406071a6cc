"""Excerpts of output that show its failures and its summary, and say what they leave out."""
