"""Thirteen ordinary tasks of an agent, counted in calls, tokens and seconds: `python -m bench.economy`."""
