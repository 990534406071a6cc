"""Enters the server into the configuration of a client."""
