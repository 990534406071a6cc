"""Whether someone at this machine listens on a port."""

import socket


def is_listened_on(port: int) -> bool:
    """True if a TCP port of this machine is listened on, by a connection that may be noticed."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
