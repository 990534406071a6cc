"""The way out of a box: a proxy to listed hosts, joined to boxes; what goes by it, what does not, what is told."""

import os
import resource
import shutil
import socket
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox import sandbox
from agent_exec.sandbox.proxy import server
from agent_exec.sandbox.sandbox import Sandbox
from sandbox.attacks.conftest import STRONG, make_runner
from sandbox.attacks.ground import PYTHON, Answer, Runner, World, ended, first_processes, make_package, site
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not PYTHON, reason="boxes are made by Linux")

HOST = "127.0.0.2"
"""An address of the machine's loopback that programs do not keep from a proxy."""

ASK = r"""
import base64, re, urllib.request
user = re.match(r"http://(.*)@|", PROXY).group(1) or ""
def basic(user):
    return "Proxy-Authorization: Basic " + base64.b64encode(user.encode()).decode() + "\r\n"
def dial():
    sock = socket.create_connection(WAY_OUT)
    sock.settimeout(20)
    return sock
def fire(target, head=None):
    sock = dial()
    sock.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, target, basic(user) if head is None else head)).encode())
    return sock
def whole(sock):
    data = b""
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                return data
            data += more
    except ConnectionError:
        return data
def status(target, head=None):
    with fire(target, head) as sock:
        return sock.recv(65536).split(b" ")[1].decode()
"""


class Server(ThreadingHTTPServer):
    """A server that a flood of half-open connections neither blocks nor keeps from ending."""

    request_queue_size = 512
    daemon_threads = True
    block_on_close = False


class Host:
    """A server of the machine's, which remembers which paths were asked for."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        visits = self.visits

        class Handler(BaseHTTPRequestHandler):
            timeout = 60

            def do_GET(self) -> None:
                visits.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"hello")

            def log_message(self, *_: object) -> None:
                pass

        self.server = Server((HOST, 0), Handler)
        self.port = self.server.server_port
        self.rule = f"{HOST}:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def host() -> Iterator[Host]:
    found = Host()
    yield found
    found.close()


@pytest.fixture(scope="session")
def field() -> Iterator[Path]:
    with site() as where:
        make_package(where)
        yield where


@pytest.fixture(scope="session", params=STRONG)
def runner(request: pytest.FixtureRequest, field: Path) -> Iterator[Runner]:
    user, backend = request.param.split("-")
    found = make_runner(user, backend, field)
    yield found
    found.close()


@pytest.fixture
def world(runner: Runner, field: Path) -> Iterator[World]:
    base = field / f"world-{uuid.uuid4().hex[:8]}"
    base.mkdir()
    yield World(base, runner)
    shutil.rmtree(base)


@pytest.fixture
def alone(world: World, field: Path) -> Iterator[World]:
    """A workspace of a runner of its own, whose boxes are no other test's."""
    world.runner = runner = make_runner(world.runner.user, world.runner.kind, field)
    yield world
    runner.close()


def ask(world: World, code: str, *rules: str, **more: Any) -> Answer:
    more.setdefault("args", {})
    return world.python(ASK + code, net=list(rules), report=True, **more)


def hosts(answer: Answer) -> list[str]:
    return [f"{one['host']}:{one['port']}" for one in answer.network]


def test_what_is_listed_is_reached(world: World, host: Host) -> None:
    code = r"""
url = "http://%s/" % ARGS["rule"]
say("urllib", urllib.request.urlopen(url + "urllib", timeout=20).read().decode())
say("connect", status(ARGS["rule"]))
import subprocess
if ARGS["curl"]:
    done = subprocess.run(["curl", "-sS", "-m", "20", url + "curl"], capture_output=True, text=True)
    say("curl", done.stdout + done.stderr)
    done = subprocess.run(["curl", "-sS", "-m", "20", "-p", url + "tunnel"], capture_output=True, text=True)
    say("tunnel", done.stdout + done.stderr)
say("net", os.environ["AGENT_EXEC_NET"])
"""
    curl = bool(shutil.which("curl", path="/usr/bin:/bin"))
    found = ask(world, code, host.rule, args={"rule": host.rule, "curl": curl})
    ways = {"urllib", *(("curl", "tunnel") if curl else ())}
    results = found.results
    assert results.pop("connect") == "200"
    assert results.pop("net") == "allow-list"
    assert results == dict.fromkeys(ways, "hello")
    assert set(host.visits) == {f"/{way}" for way in ways}
    assert set(hosts(found)) == {host.rule}
    assert {one["allowed"] for one in found.network} == {True}
    assert {one["rule"] for one in found.network} == {host.rule}
    assert found.sandbox["network"] == found.network
    assert found.sandbox["denials"] == []


def test_what_is_not_listed_is_refused_and_reported(world: World, host: Host) -> None:
    """Cases 44 and 59: host, port and why, with the evidence of who refused it."""
    other = Host()
    try:
        code = r"""
for target in (ARGS["other"], "evil.example:443", "127.0.0.1:" + ARGS["port"], "[::1]:" + ARGS["port"], "localhost:" + ARGS["port"]):
    say(target, status(target))
try:
    urllib.request.urlopen("http://plain.example/", timeout=20)
except OSError as problem:
    say("urllib", problem.code)
"""
        args = {"other": other.rule, "port": str(host.port)}
        found = ask(world, code, host.rule, args=args)
        assert other.visits == host.visits == []
    finally:
        other.close()
    results = found.results
    assert set(results.values()) == {"403"}
    told = {(one["host"], one["port"]): one for one in found.sandbox["denials"]}
    assert {
        (HOST, other.port),
        ("evil.example", 443),
        ("plain.example", 80),
        ("127.0.0.1", host.port),
    } <= told.keys()
    for one in told.values():
        assert (one["kind"], one["evidence"]) == ("net.connect", "exact")
        assert one["rule"] == "not in allow-list"
        assert host.rule in one["remedy"]
    assert found.sandbox["message"].startswith("[sandbox] blocked: ")


def test_there_is_no_other_way(world: World, host: Host) -> None:
    """Case 46: whoever forgets the proxy reaches nobody, by any kind of socket."""
    code = r"""
for name, value in list(os.environ.items()):
    if "proxy" in name.lower():
        del os.environ[name]
def plain():
    urllib.request.urlopen("http://%s/direct" % ARGS["rule"], timeout=5)
address = (ARGS["rule"].split(":")[0], int(ARGS["rule"].split(":")[1]))
attempt("urllib", plain)
attempt("tcp", lambda: socket.create_connection(address, 5))
if ARGS["free"]:
    sys.exit()
attempt("outside", lambda: socket.create_connection(("192.0.2.1", 80), 5))
attempt("outside 6", lambda: socket.create_connection(("2001:db8::1", 80), 5))
def gram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("192.0.2.1", 53))
attempt("udp", gram)
attempt("names", lambda: socket.getaddrinfo("example.org", 80))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("vsock", lambda: socket.socket(40))
for port in (3127, 3129, 1080, 8080):
    attempt("port %d" % port, lambda: socket.create_connection(("127.0.0.1", port), 5))
"""
    found = ask(world, code, host.rule, args={"rule": host.rule, "free": False})
    assert not {name for name, word in found.results.items() if word == "ok"}
    assert host.visits == []
    assert found.network == []
    free = world.python(ASK + code, boxed=False, args={"rule": host.rule, "free": True}).results
    assert (free["urllib"], free["tcp"]) == ("ok", "ok")


def test_the_token(world: World, host: Host) -> None:
    """Case 46: nobody is served without the right one; each profile has its own, and its own list."""
    other = Host()
    try:
        tell = "say('user', user)\nsay('status', status(ARGS['rule']))"
        first = ask(world, tell, host.rule, args={"rule": host.rule}).results
        second = ask(world, tell, other.rule, args={"rule": other.rule}).results
    finally:
        other.close()
    assert first["status"] == second["status"] == "200"
    assert first["user"] != second["user"]
    assert len(first["user"].split(":")[1]) >= 32
    code = r"""
target = ARGS["rule"]
say("none", status(target, ""))
say("wrong", status(target, basic("agent-exec:" + "0" * 32)))
say("empty", status(target, basic("agent-exec:")))
say("another's", status(target, basic(ARGS["user"])))
say("half", status(target, basic(user[:-1])))
say("more", status(target, basic(user + "0")))
"""
    found = ask(world, code, host.rule, args={"rule": host.rule, "user": second["user"]})
    results = found.results
    assert set(results.values()) == {"407"}
    assert not any(one["allowed"] for one in found.network)
    assert host.visits == []


def test_the_callers_own_proxy_stays_outside(world: World, host: Host) -> None:
    """What the caller uses as its proxy, with its password, is neither used nor shown."""
    env = {"PATH": "/usr/bin:/bin"}
    for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY", "no_proxy"):
        env[name] = f"http://me:the-secret-of-the-caller@{HOST}:{host.port}"
    code = "say('found', [name for name, value in os.environ.items() if 'secret-of' in value])\nsay('proxy', PROXY.rpartition('@')[2] == '%s:%d' % WAY_OUT)"
    found = ask(world, code, host.rule, env=env)
    assert found.results == {"found": "[]", "proxy": "True"}
    off = world.python(ASK + "say('proxy', repr(PROXY))", env=env, net="off")
    assert off.results == {"proxy": "''"}


def test_each_command_gets_its_own_report(alone: World, host: Host) -> None:
    """In a box that is used again, what one command asked for is not told of the next."""
    for number in range(4):
        target = f"number{number}.example:443"
        found = ask(alone, f"say('status', status({target!r}))", host.rule)
        assert found.results == {"status": "403"}
        assert hosts(found) == [target]
        assert [one["host"] for one in found.sandbox["denials"]] == [f"number{number}.example"]
        quiet = ask(alone, "pass", host.rule)
        assert (quiet.network, quiet.sandbox["denials"]) == ([], [])
    plain = alone.python("pass", boxed=False)
    assert plain.network == []


def test_what_a_command_asks_with_its_last_breath_is_its_own(world: World, host: Host) -> None:
    """Requests that are still on their way when a command exits belong to it, and not to the next."""
    for _ in range(3):
        code = "kept = [fire('last%d.example:443' % number) for number in range(120)]\nos._exit(0)"
        first = ask(world, code, host.rule)
        second = ask(world, "pass", host.rule)
        assert second.network == []
        assert len(first.network) == 120


def test_a_refusal_cannot_be_washed_away(world: World, host: Host) -> None:
    """Requests without a token cost nothing and are no denials; they must not hide one."""
    code = r"""
say("evil", status("evil.example:443"))
for number in range(1100):
    status("x.example:443", "")
"""
    found = ask(world, code, host.rule)
    assert found.results == {"evil": "403"}
    assert "evil.example" in [one["host"] for one in found.sandbox["denials"]]


@pytest.mark.parametrize("net", [[], "off"])
def test_nothing_listed_is_no_way_out(world: World, host: Host, net: object) -> None:
    """Case 35: no listener, no variables; nor is there a listener of another box's."""
    assert ask(world, "say('status', status(ARGS['rule']))", host.rule, args={"rule": host.rule}).results == {
        "status": "200"
    }
    code = "say('proxy', PROXY)\nattempt('listener', dial)"
    found = world.python(ASK + code, net=net)
    assert found.results == {"proxy": "", "listener": "ECONNREFUSED"}


def test_a_bad_rule_is_refused_before_anything_starts(alone: World) -> None:
    before = set(first_processes(alone.runner))
    for rule in (
        "ex ample.org",
        "*",
        "*.*",
        "example.org:0",
        "example.org:99999",
        "http://x",
        "",
        "*.1.2.3.4",
    ):
        profile = alone.profile(net=["good.example", rule])
        found = alone.runner.run(["/bin/sh", "-c", "echo >ran"], alone.root, profile)
        assert found.error == "invalid_argument", rule
    assert not (alone.root / "ran").exists()
    assert set(first_processes(alone.runner)) == before


def test_when_the_proxy_is_dead_so_is_the_box(alone: World, host: Host) -> None:
    """Case 47: a box whose way out is gone is not used again; the next command has one that works."""
    code = "say('status', status(ARGS['rule']))"
    args = {"rule": host.rule}
    assert ask(alone, code, host.rule, args=args).results == {"status": "200"}
    for _ in range(3):
        before = set(first_processes(alone.runner))
        assert alone.runner.do("end proxies")["ended"] >= 1
        assert ask(alone, code, host.rule, args=args).results == {"status": "200"}
        assert set(first_processes(alone.runner)) != before


def test_a_proxy_that_ends_meanwhile(tmp_path: Path, host: Host) -> None:
    """Case 47: then there is no network, and nobody waits for one."""
    code = r"""
import os, socket, sys, time
sock = socket.create_connection(("127.0.0.1", 3128))
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.002)
sock.settimeout(20)
try:
    print(repr(sock.recv(10)))
except ConnectionError:
    print(repr(b""))
try:
    socket.create_connection(("127.0.0.1", 3128), 20)
except OSError as error:
    print(type(error).__name__)
"""
    profile = agent_exec.Profile("workspace-write", [tmp_path], net=[host.rule])
    command = agent_exec.Command([PYTHON, "-IS", "-c", code], cwd=tmp_path)
    with agent_exec.Engine() as engine:
        for _ in range(2):
            for name in ("ready", "go"):
                (tmp_path / name).unlink(missing_ok=True)
            run = engine.start(command, sandbox=profile)
            wait_until((tmp_path / "ready").exists)
            process: Any = run._process
            keeper = process._keeper
            keeper.served.close()
            (tmp_path / "go").touch()
            assert run.outcome().stdout == b"b''\nConnectionRefusedError\n"
        again = engine.start(
            agent_exec.Command(
                [PYTHON, "-IS", "-c", "import socket; socket.create_connection(('127.0.0.1', 3128))"],
                cwd=tmp_path,
            ),
            sandbox=profile,
        )
        assert again.outcome().ok


def test_many_connections(world: World, host: Host) -> None:
    """More than are served at once, and more than are queued."""
    code = r"""
import threading
found = []
def one():
    found.append(status(ARGS["rule"]))
threads = [threading.Thread(target=one) for _ in range(100)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for _ in range(100):
    one()
say("found", {word: found.count(word) for word in found})
"""
    found = ask(world, code, host.rule, args={"rule": host.rule})
    assert found.results == {"found": "{'200': 200}"}
    assert len(found.network) == 200


def test_a_flood_leaves_a_way_out_for_the_next(world: World, host: Host) -> None:
    """Whatever a command leaves of connections, half of requests and garbage, the next one is served."""
    flood = r"""
kept = []
try:
    for number in range(600):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(WAY_OUT)
        kept.append(sock)
except OSError as problem:
    pass
for number, sock in enumerate(kept):
    try:
        sock.send((b"CONNECT x", b"\x05", b"\x05\xff", os.urandom(64), b"GET http://" + b"x" * 9000)[number % 5])
    except OSError:
        pass
say("kept", len(kept) > 300)
if number % 2:
    os.kill(os.getpid(), 9)
"""
    for _ in range(2):
        found = ask(world, flood, host.rule)
        assert found.error == ""
        found = ask(world, "say('status', status(ARGS['rule']))", host.rule, args={"rule": host.rule})
        assert found.results == {"status": "200"}


def test_the_listener_is_out_of_reach(world: World, host: Host) -> None:
    """Case 55: no command holds it, takes its place, or ends it, in a box that is new or used again."""
    code = r"""
say("fds", [name for name in os.listdir("/proc/self/fd") if int(name) > 2][:-1])
def bind(family, address, *options):
    sock = socket.socket(family, socket.SOCK_STREAM)
    for option in options:
        sock.setsockopt(socket.SOL_SOCKET, option, 1)
    sock.bind((address, WAY_OUT[1]))
    sock.listen()
for address in ("127.0.0.1", "0.0.0.0"):
    attempt("bind " + address, lambda: bind(socket.AF_INET, address))
    attempt("reuse " + address, lambda: bind(socket.AF_INET, address, socket.SO_REUSEADDR))
    attempt("share " + address, lambda: bind(socket.AF_INET, address, socket.SO_REUSEADDR, socket.SO_REUSEPORT))
attempt("bind ::ffff", lambda: bind(socket.AF_INET6, "::ffff:127.0.0.1", socket.SO_REUSEADDR, socket.SO_REUSEPORT))
def diag(protocol):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
attempt("diag", lambda: diag(4))
def link_down():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("IHHIIBxHiII", 32, 16, 5, 1, 0, 0, 0, 1, 0, 1))
        number = struct.unpack_from("i", sock.recv(4096), 16)[0]
        if number:
            raise OSError(-number, "")
attempt("lo down", link_down)
attempt("down by ioctl", lambda: fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0)))
attempt("first process", lambda: os.readlink("/proc/1/fd/0"))
say("status", status(ARGS["rule"]))
"""
    for _ in range(2):
        found = ask(world, code, host.rule, args={"rule": host.rule}).results
        assert found.pop("fds") == "[]"
        assert found.pop("status") == "200"
        assert not {name for name, word in found.items() if word == "ok"}


def test_a_tunnel_ends_with_its_command(world: World) -> None:
    """The other side hears of it, also if the command is killed; nothing is sent on its behalf afterwards."""
    with socket.create_server((HOST, 0)) as server:
        server.settimeout(20)
        rule = f"{HOST}:{server.getsockname()[1]}"
        for end in ("os._exit(0)", "os.kill(os.getpid(), 9)", "os.fork() or os.setsid() or time.sleep(60)"):
            code = "sock = fire(ARGS['rule'])\nsock.recv(100)\nsock.send(b'x')\n" + end
            answer = ask(world, code, rule, args={"rule": rule})
            try:
                peer, _ = server.accept()
            except TimeoutError:
                pytest.fail(f"no tunnel was opened: {answer}, {answer.network}")
            with peer:
                peer.settimeout(20)
                received = b""
                try:
                    while more := peer.recv(10):
                        received += more
                except ConnectionError:
                    pass
                assert received in {b"x", b""}


def test_a_terminal_has_the_way_out_too(world: World, host: Host) -> None:
    """The box and the terminal both come as descriptors, and must not be taken for each other."""
    for _ in range(2):
        found = ask(
            world, "say('status', status(ARGS['rule']))", host.rule, args={"rule": host.rule}, tty=True
        )
        assert "status\t200" in found.out, found
        assert hosts(found) == [host.rule]


def test_nothing_outlives_its_caller(alone: World, host: Host) -> None:
    """Killed by force, the caller takes its proxies and boxes along."""
    alone.runner.send(
        {
            "argv": [PYTHON, "-c", "open('ready', 'w'); import time; time.sleep(60)"],
            "cwd": str(alone.root),
            "profile": alone.profile(net=[host.rule]),
        }
    )
    wait_until((alone.root / "ready").exists)
    alone.runner.kill()
    assert ended(alone.runner.mark), processes_marked(alone.runner.mark)


def test_a_forked_copy_holds_nothing(alone: World, host: Host) -> None:
    assert ask(alone, "status(ARGS['rule'])\nsay('x', '')", host.rule, args={"rule": host.rule}).error == ""
    ours = alone.runner.do("look")["fds"]
    theirs = alone.runner.do("fork", request={"do": "look"})["fds"]
    kept = {
        fd
        for fd, what in theirs.items()
        if what.startswith(("socket:", "anon_inode")) and ours.get(fd) == what
    }
    assert kept == set()


def test_a_forked_copy_makes_its_own(alone: World, host: Host) -> None:
    """After a fork, the copy's commands have boxes and ways out of their own, and so has the original."""
    code = ASK + "print(status(ARGS['rule']))"
    from sandbox.attacks.ground import request, with_prelude

    argv = [PYTHON, "-IS", "-c", with_prelude(code), f'{{"root": "", "out": "", "rule": "{host.rule}"}}']
    asked = request(argv, alone.root, alone.profile(net=[host.rule]))
    assert alone.runner.ask(asked)["out"] == "200\n"
    forked = alone.runner.do("fork", request=asked)
    assert (forked["out"], len(forked["network"])) == ("200\n", 1)
    again = alone.runner.ask(asked)
    assert (again["out"], len(again["network"])) == ("200\n", 1)


def test_a_proxy_that_cannot_be_started(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nothing is run, and the box is gone; with it the next command is served."""

    def fails(fd: int, *_: object) -> object:
        os.close(fd)
        raise RuntimeError("can't start new thread")

    profile = agent_exec.Profile("workspace-write", [tmp_path], net=[host.rule])
    with monkeypatch.context() as patch:
        patch.setattr(server, "serve", fails)
        patch.setattr(sandbox, "_shared", Sandbox())
        with pytest.raises((agent_exec.AgentExecError, OSError)):
            agent_exec.run(["/bin/sh", "-c", "echo >ran"], cwd=tmp_path, sandbox=profile)
    assert not (tmp_path / "ran").exists()
    assert agent_exec.run(["/bin/sh", "-c", "echo >ran"], cwd=tmp_path, sandbox=profile).ok


def test_a_listener_that_is_none_concerns_its_own_command(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner does not trust what comes out of a box: the proxy refuses the socket, and only that run fails."""

    def refuses(fd: int, *_: object) -> object:
        os.close(fd)
        raise InvalidArgument("the proxy needs a listening TCP socket")

    monkeypatch.setattr(server, "serve", refuses)
    only = Sandbox(only=("ns",))
    only._proven.add("ns")
    monkeypatch.setattr(sandbox, "_shared", only)
    profile = agent_exec.Profile("workspace-write", [tmp_path], net=[host.rule])
    with agent_exec.Engine() as engine:
        script = "echo >up; while [ ! -e go ]; do sleep 0.01; done"
        other = engine.start(agent_exec.Command(["/bin/sh", "-c", script], cwd=tmp_path))
        wait_until((tmp_path / "up").exists)
        bad = engine.start(agent_exec.Command(["true"], cwd=tmp_path), sandbox=profile)
        with pytest.raises(agent_exec.AgentExecError):
            bad.outcome()
        (tmp_path / "go").touch()
        assert other.outcome().ok


def test_a_flood_of_tunnels_leaves_descriptors_to_others(tmp_path: Path) -> None:
    """What one command opens through its way out must not keep the caller from running another."""
    code = r"""
import base64, os, re, socket, time
user = re.match(r"http://(.*)@", os.environ["HTTP_PROXY"]).group(1).encode()
head = b"CONNECT %s HTTP/1.1\r\nProxy-Authorization: Basic %s\r\n\r\n" % (os.environ["RULE"].encode(), base64.b64encode(user))
kept = []
for _ in range(250):
    sock = socket.create_connection(("127.0.0.1", 3128))
    sock.settimeout(0.5)
    sock.sendall(head)
    kept.append(sock)
    try:
        if not sock.recv(10):
            break
    except OSError:
        break
open("full", "w").close()
while not os.path.exists("go"):
    time.sleep(0.002)
"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_server((HOST, 0), backlog=512) as listener, agent_exec.Engine() as engine:
        rule = f"{HOST}:{listener.getsockname()[1]}"
        profile = agent_exec.Profile("workspace-write", [tmp_path], net=[rule])
        env = {"PATH": "/usr/bin:/bin", "RULE": rule}
        run = engine.start(
            agent_exec.Command([PYTHON, "-IS", "-c", code], cwd=tmp_path, env=env), sandbox=profile
        )
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        try:
            wait_until((tmp_path / "full").exists)
            assert engine.start(agent_exec.Command(["true"], cwd=tmp_path)).outcome().ok
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            (tmp_path / "go").touch()
            run.wait()


def test_denials_are_bounded(world: World, host: Host) -> None:
    found = ask(world, "for n in range(200): status('h%d.example:443' % n)\nsay('x', '')", host.rule)
    assert found.exit_code == 0
    assert 0 < len(found.sandbox["denials"]) <= 100


def test_a_bad_rule_in_python(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        agent_exec.run(
            ["true"], cwd=tmp_path, sandbox=agent_exec.Profile("workspace-write", [tmp_path], net=["a b"])
        )
