"""Output on disk, bounded, for whoever keeps it: jobs and sessions."""
