"""The screen of jobs in `/shell`."""
