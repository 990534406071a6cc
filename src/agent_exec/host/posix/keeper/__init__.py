"""The helper processes: a factory forks keepers, and a keeper owns the process tree of one command."""
