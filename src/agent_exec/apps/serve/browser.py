"""The link that signs a browser in: it is printed for a person, and opened on request."""

import os
import sys
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.web.listening import Where

NAMED = "AGENT_EXEC_BROWSER"
"""The variable that names the browser; without it, BROWSER does, as for other programs."""


def refusal(where: "Where") -> str:
    """Return why no browser can be opened for a server that listens there; empty if one can."""
    if where.path:
        return "--open needs an address, which a Unix socket is not; leave out --socket"
    if where.remote:
        return "--open is for a server on this machine alone; leave out --allow-remote, or open the link"
    return ""


def invite(url: str, token: str, *, browse: bool) -> None:
    """Print the link if a person reads stderr, and open it in a browser if `browse`; never wait for that."""
    link = f"{url}/#token={token}"
    if sys.stderr.isatty():
        _print(link)
    if browse:
        Thread(target=_open, args=(link,), daemon=True).start()


def _open(link: str) -> None:
    """Open a link in a browser, or print it if that fails."""
    if own := os.environ.get(NAMED):
        os.environ["BROWSER"] = own  # read by the import
    import webbrowser

    try:
        opened = webbrowser.open(link)
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        sys.stderr.write("agent-exec: no browser could be opened; set BROWSER to one, or open this link\n")
        _print(link)


def _print(link: str) -> None:
    sys.stderr.write(f"agent-exec: open {link}\n")
    sys.stderr.flush()
