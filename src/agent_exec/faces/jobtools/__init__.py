"""The contract of jobs as tools: run, status, tail, wait, kill, list."""
