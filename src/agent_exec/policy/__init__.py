"""One judge for every face: reads a command, and says allow, ask or deny; looks nothing up."""
