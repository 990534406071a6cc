"""The contract of sessions: a command typed to a shell, kept open under an id, spoken to until it ends."""
