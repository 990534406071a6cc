"""Drives runs: one loop, one table of states, no thread a run."""
