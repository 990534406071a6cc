"""Parses a shell line into simple commands."""
