"""A project: the named services and jobs of a folder, as its file says, and which of them run."""
