"""The server of small tools over HTTP, any port: `python fake_http.py FOLDER [IDLE]`."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from agent_exec.apps.mcp.main import serve
from agent_exec.apps.web.listening import Where
from agent_exec.places import token_place
from apps.mcp.fake import Fake

if __name__ == "__main__":
    from agent_exec.apps.mcp import server
    from agent_exec.apps.mcp.transport import http
    from agent_exec.apps.mcp.transport import http_clients as httpclients
    from agent_exec.apps.web import events, guard, serving, visitors
    from agent_exec.apps.web import server as connection

    server.PROGRESS_EVERY = 0.05
    for word in os.environ.get("FAKE_HTTP", "").split():
        name, _, value = word.partition("=")
        module, _, name = name.partition(".")
        setattr(
            {
                "clients": httpclients,
                "connection": connection,
                "events": events,
                "guard": guard,
                "http": http,
                "serving": serving,
                "visitors": visitors,
            }[module],
            name,
            float(value),
        )
    if "FAKE_HANGS" in os.environ:
        setattr(Fake, "close", lambda _: time.sleep(1000))  # noqa: B010 - types need not know
    idle = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    os._exit(serve(lambda: Fake(Path(sys.argv[1])), Where(token_place(), port=0, idle=idle)))
