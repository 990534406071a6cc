"""Jobs: runs that are recorded on disk, each owned by a supervisor that outlives whoever asked for it."""
