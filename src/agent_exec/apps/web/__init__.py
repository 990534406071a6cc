"""One web server for all that listens: connections, the guard before every request, the token."""
