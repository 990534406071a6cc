"""Starts minimal apps of real servers and frameworks, and prints how soon each is ready by evidence; opt-in.

`readiness_servers.py PYTHON NODE_FOLDER`: PYTHON is an interpreter that has the
Python packages installed, NODE_FOLDER a folder whose node_modules has the
others. What is not installed is left out.
"""

# ruff: noqa: E501 - whole programs

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "agent-exec")
WSGI = "def app(environ, start):\n    start('200 OK', [])\n    return [b'hi']\n"
ASGI = (
    "async def app(scope, receive, send):\n    if scope['type'] != 'http':\n        return\n"
    "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
    "    await send({'type': 'http.response.body', 'body': b'hi'})\n"
)
PORT = "import os; port = int(os.environ['PORT'])\n"
PYTHON = {
    "http.server": ("http", "", "-m http.server --bind 127.0.0.1 $PORT"),
    "socketserver": (
        "socketserver",
        PORT + "import http.server, socketserver\n"
        "socketserver.ThreadingTCPServer(('127.0.0.1', port), http.server.SimpleHTTPRequestHandler).serve_forever()",
        "main.py",
    ),
    "wsgiref": (
        "wsgiref",
        PORT
        + WSGI
        + "from wsgiref.simple_server import make_server\nmake_server('', port, app).serve_forever()",
        "main.py",
    ),
    "flask": (
        "flask",
        PORT + "import flask\napp = flask.Flask('app')\napp.get('/')(lambda: 'hi')\napp.run(port=port)",
        "main.py",
    ),
    "flask, reloader": (
        "flask",
        "import flask\napp = flask.Flask('app')\napp.get('/')(lambda: 'hi')",
        "-m flask --app main run --debug --port $PORT",
    ),
    "fastapi + uvicorn": (
        "fastapi",
        "import fastapi\napp = fastapi.FastAPI()\napp.get('/')(lambda: 'hi')",
        "-m uvicorn main:app --port $PORT",
    ),
    "starlette + hypercorn": (
        "starlette",
        (
            "from starlette.applications import Starlette\nfrom starlette.responses import PlainTextResponse\n"
            "from starlette.routing import Route\napp = Starlette(routes=[Route('/', lambda r: PlainTextResponse('hi'))])"
        ),
        "-m hypercorn main:app -b 127.0.0.1:$PORT",
    ),
    "uvicorn, 2 workers": ("uvicorn", ASGI, "-m uvicorn main:app --workers 2 --port $PORT"),
    "daphne": ("daphne", ASGI, "-m daphne -p $PORT main:app"),
    "django": (
        "django",
        (
            "import sys\nfrom django.conf import settings\nfrom django.http import HttpResponse\n"
            "from django.urls import path\nsettings.configured or settings.configure(DEBUG=True, ROOT_URLCONF='main', SECRET_KEY='x')\n"
            "urlpatterns = [path('', lambda r: HttpResponse('hi'))]\n"
            "if __name__ == '__main__':\n    from django.core.management import execute_from_command_line\n"
            "    execute_from_command_line(sys.argv)"
        ),
        "main.py runserver --noreload --skip-checks $PORT",
    ),
    "aiohttp": (
        "aiohttp",
        PORT + "from aiohttp import web\n\n\nasync def hi(r):\n    return web.Response(text='hi')\n\n\n"
        "app = web.Application()\napp.router.add_get('/', hi)\nweb.run_app(app, port=port)",
        "main.py",
    ),
    "tornado": (
        "tornado",
        PORT + "import asyncio, tornado.web\n\n\nclass Hi(tornado.web.RequestHandler):\n    def get(self):\n"
        "        self.write('hi')\n\n\nasync def main():\n    tornado.web.Application([('/', Hi)]).listen(port)\n"
        "    await asyncio.Event().wait()\n\n\nasyncio.run(main())",
        "main.py",
    ),
    "bottle": (
        "bottle",
        PORT + "import bottle\nbottle.route('/')(lambda: 'hi')\nbottle.run(port=port)",
        "main.py",
    ),
    "gunicorn": ("gunicorn", WSGI, "-m gunicorn -w 2 -b 127.0.0.1:$PORT main:app"),
    "waitress": ("waitress", WSGI, "-m waitress --listen=127.0.0.1:$PORT main:app"),
    "cherrypy": (
        "cherrypy",
        PORT
        + "import cherrypy\n\n\nclass Hi:\n    @cherrypy.expose\n    def index(self):\n        return 'hi'\n\n\n"
        "cherrypy.config.update({'server.socket_port': port})\ncherrypy.quickstart(Hi())",
        "main.py",
    ),
    "sanic": (
        "sanic",
        "from sanic import Sanic, text\napp = Sanic('hi')\n\n\n@app.get('/')\nasync def hi(r):\n    return text('hi')\n",
        "-m sanic main:app --port $PORT --single-process",
    ),
    "falcon + wsgiref": (
        "falcon",
        PORT + "import falcon\nfrom wsgiref.simple_server import make_server\n\n\nclass Hi:\n"
        "    def on_get(self, req, resp):\n        resp.text = 'hi'\n\n\napp = falcon.App()\napp.add_route('/', Hi())\n"
        "make_server('', port, app).serve_forever()",
        "main.py",
    ),
    "quart": (
        "quart",
        PORT
        + "import quart\napp = quart.Quart('app')\n\n\n@app.get('/')\nasync def hi():\n    return 'hi'\n\n\n"
        "app.run(port=port)",
        "main.py",
    ),
    "pyramid": (
        "pyramid",
        PORT + "from wsgiref.simple_server import make_server\nfrom pyramid.config import Configurator\n"
        "from pyramid.response import Response\nwith Configurator() as c:\n    c.add_route('hi', '/')\n"
        "    c.add_view(lambda r: Response('hi'), route_name='hi')\n    app = c.make_wsgi_app()\n"
        "make_server('', port, app).serve_forever()",
        "main.py",
    ),
}
NODE = {
    "node:http": (
        "",
        "require('http').createServer((q, r) => r.end('hi')).listen(process.env.PORT)",
        "node main.cjs",
    ),
    "express": (
        "express",
        "const a = require('express')(); a.get('/', (q, r) => r.send('hi')); a.listen(process.env.PORT)",
        "node main.cjs",
    ),
    "koa": (
        "koa",
        (
            "const K = require('koa'); const a = new (K.default || K)(); a.use(c => { c.body = 'hi' }); "
            "a.listen(process.env.PORT)"
        ),
        "node main.cjs",
    ),
    "fastify": (
        "fastify",
        "const a = require('fastify')(); a.get('/', async () => 'hi'); a.listen({port: +process.env.PORT})",
        "node main.cjs",
    ),
    "hono": (
        "hono",
        (
            "const {serve} = require('@hono/node-server'); const {Hono} = require('hono'); const a = new Hono(); "
            "a.get('/', c => c.text('hi')); serve({fetch: a.fetch, port: +process.env.PORT})"
        ),
        "node main.cjs",
    ),
    "polka": (
        "polka",
        "require('polka')().get('/', (q, r) => r.end('hi')).listen(process.env.PORT)",
        "node main.cjs",
    ),
    "hapi": (
        "@hapi/hapi",
        (
            "const s = require('@hapi/hapi').server({port: process.env.PORT, host: 'localhost'}); "
            "s.route({method: 'GET', path: '/', handler: () => 'hi'}); s.start()"
        ),
        "node main.cjs",
    ),
    "http-server": ("http-server", "", "node_modules/.bin/http-server -p $PORT"),
    "serve": ("serve", "", "node_modules/.bin/serve -l $PORT"),
    "vite": ("vite", "", "node_modules/.bin/vite --port $PORT --strictPort"),
}


def start(folder: Path, line: str, env: dict[str, str]) -> dict[str, object]:
    """Start an app, wait until it is ready by evidence, end it, and return the answer."""
    port = "http=localhost:{}"
    free = json.loads(
        subprocess.run(
            [PROGRAM, "run", "--port", "auto", "--", "true"],
            cwd=folder,
            env=env,
            capture_output=True,
            check=True,
        ).stdout
    )["ports"]["PORT"]
    conditions = ("--for", f"listen:{free}", "--for", port.format(free), "--all", "--until", "60")
    words = [PROGRAM, "run", "--port", "auto", *conditions, "--", "sh", "-c", line]
    out = subprocess.run(words, cwd=folder, env=env, capture_output=True, check=True)
    told: dict[str, object] = json.loads(out.stdout)
    subprocess.run(
        [PROGRAM, "kill", str(told["job_id"])], cwd=folder, env=env, capture_output=True, check=True
    )
    return told


def row(name: str, folder: Path, line: str, env: dict[str, str]) -> str:
    """Return a line of the table about one app."""
    told = start(folder, line, env)
    met = {entry["for"].partition(":")[0].partition("=")[0]: entry for entry in told.get("met", [])}  # type: ignore[attr-defined]
    if not told["ready"]:
        last = (str(told["stderr"]) or str(told["stdout"])).strip().splitlines()[-1:]
        why = "; ".join(str(one.get("message")) for one in told["unmet"])  # type: ignore[attr-defined]
        return f"| {name} | no: {why} {last} | | | |"
    at = met["listen"]["listening"]
    where = ", ".join(f"{one['address']} ({one['family']})" for one in at)
    pids = len({one["pid"] for one in at})
    answered = f"{met['http']['status']} at {met['http']['address'].rpartition(':')[0]}"
    times = f"{met['listen']['after_ms']} | {met['http']['after_ms']}"
    return f"| {name} | {where} | {pids} | {times} | {answered} |"


def main(python: str, node: Path) -> None:
    """Start all apps that are installed, one after the other, and print the table."""
    print("| server | listens on | processes | listens after ms | answers after ms | answer |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        env = {**os.environ, "AGENT_EXEC_ROOT": f"{place}/jobs", "XDG_DATA_HOME": f"{place}/data"}
        env["PYTHONUNBUFFERED"] = "1"
        for number, (name, (package, code, words)) in enumerate(PYTHON.items()):
            if subprocess.run(
                [python, "-c", f"import {package}"], capture_output=True, check=False
            ).returncode:
                continue
            folder = Path(place) / f"app{number}"
            folder.mkdir()
            (folder / "main.py").write_text(code)
            print(row(name, folder, f"exec {python} {words}", env), flush=True)
        for number, (name, (package, code, words)) in enumerate(NODE.items()):
            if package and not (node / "node_modules" / package).is_dir():
                continue
            folder = Path(place) / f"node{number}"
            folder.mkdir()
            (folder / "node_modules").symlink_to(node.resolve() / "node_modules")
            (folder / "main.cjs").write_text(code)
            (folder / "index.html").write_text("<p>hi</p>")
            print(row(name, folder, f"exec {words}", env), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
