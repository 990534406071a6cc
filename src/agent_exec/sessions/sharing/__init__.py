"""Sessions shown to people: each server has a private socket, through which they are watched and typed to."""
