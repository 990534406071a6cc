"""Bounded output on disk, for jobs and sessions."""
