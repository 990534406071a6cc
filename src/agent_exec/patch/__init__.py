"""Patches: parse, find, verify, apply, recover."""
