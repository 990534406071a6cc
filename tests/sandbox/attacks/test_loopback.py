"""Boxes that share a loopback: they reach each other, no others do, and none of them has rights over it."""

import json
from typing import Any

import pytest

from sandbox.attacks.ground import PYTHON, SHARED, World, ended, request, with_prelude

WAIT = r"""
def wait_for(*names):
    while not all(os.path.exists(ROOT + "/" + name) for name in names):
        time.sleep(0.005)
"""
SERVE = r"""
server = socket.create_server(("127.0.0.1", ARGS["port"]))
spill(ROOT + "/ready")
wait_for(*ARGS["visitors"])
say("network", os.readlink("/proc/self/ns/net"))
say("users", os.readlink("/proc/self/ns/user"))
"""
VISIT = r"""
wait_for("ready")
def visit():
    with socket.socket() as sock:
        sock.settimeout(10)
        sock.connect(("127.0.0.1", ARGS["port"]))
attempt("visit", visit)
rows = [line.split()[1] for line in open("/proc/net/tcp")]
say("port", "seen" if any(row.endswith(":%04X" % ARGS["port"]) for row in rows) else "not seen")
say("network", os.readlink("/proc/self/ns/net"))
say("users", os.readlink("/proc/self/ns/user"))
spill(ROOT + "/" + ARGS["me"])
"""
PORT = 8123


@pytest.fixture
def alone(warm: World) -> World:
    """A workspace of a process of its own, whose boxes share a loopback."""
    if warm.runner.kind != SHARED:
        pytest.skip("the boxes of this runner share nothing")
    return warm


def at_once(world: World, *parts: tuple[str, dict[str, Any], dict[str, Any]]) -> list[dict[str, str]]:
    """Run programs at once, each with its profile and its arguments; return what they met."""
    asked = []
    for code, profile, args in parts:
        arguments = json.dumps({"root": str(world.root), "out": str(world.out), "port": PORT, **args})
        argv = [PYTHON, "-IS", "-c", with_prelude(WAIT + code), arguments]
        asked.append(request(argv, world.root, world.profile(**profile)))
    return [answer.results for answer in world.runner.run_many(asked)]


def test_only_boxes_of_the_same_loopback_reach_each_other(alone: World) -> None:
    """Not those of another name, of none, or of another list of hosts, which would lead them out."""
    profiles: dict[str, dict[str, Any]] = {
        "same": {},
        "limited": {"limits": {"procs": 500}},
        "other": {"loopback": "other"},
        "none": {"loopback": ""},
        "hosts": {"net": ["example.org"]},
    }
    visitors = [(VISIT, profile, {"me": name}) for name, profile in profiles.items()]
    server, *found = at_once(alone, (SERVE, {}, {"visitors": list(profiles)}), *visitors)
    met = dict(zip(profiles, found, strict=True))
    for name in ("same", "limited"):
        assert (met[name]["visit"], met[name]["port"]) == ("ok", "seen")
        assert met[name]["network"] == server["network"]
    for name in ("other", "none", "hosts"):
        assert (met[name]["visit"], met[name]["port"]) == ("ECONNREFUSED", "not seen")
    apart = [server["network"], *(met[name]["network"] for name in ("other", "none", "hosts"))]
    assert len(set(apart)) == len(apart)
    users = [server["users"], *(one["users"] for one in found)]
    assert len(set(users)) == len(users), "each box must have a user namespace of its own"


def test_a_box_has_no_rights_over_what_it_shares(alone: World) -> None:
    code = r"""
def flags(value):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, 0x8913, struct.pack("16sh22x", b"lo", 0))
        now = struct.unpack_from("h", answer, 16)[0]
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh22x", b"lo", now & ~value))
attempt("take down", lambda: flags(1))
for path in ("ip_local_port_range", "ip_unprivileged_port_start", "tcp_max_tw_buckets", "ip_forward"):
    attempt(path, lambda: spill("/proc/sys/net/ipv4/" + path, "1"))
attempt("ipv6", lambda: spill("/proc/sys/net/ipv6/conf/lo/disable_ipv6", "1"))
for kind in ("net", "user"):
    def enter():
        fd = os.open("/proc/1/ns/" + kind, os.O_RDONLY)
        checked(libc.setns(fd, 0))
    attempt("enter " + kind, enter)
attempt("first process", lambda: [os.readlink("/proc/1/fd/" + name) for name in os.listdir("/proc/1/fd")])
attempt("namespace", lambda: checked(libc.unshare(0x50000000)))
attempt("low port", lambda: socket.create_server(("127.0.0.1", 80)))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).close())
capabilities = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")]
say("capabilities", {int(one, 16) for one in (*capabilities[:3], capabilities[4])})
paths = ["/proc/self/fd/" + name for name in os.listdir("/proc/self/fd")]
say("descriptors", [os.readlink(path) for path in paths if os.path.islink(path)])
"""
    found = alone.python(code).results
    assert found.pop("capabilities") == "{0}"
    descriptors = found.pop("descriptors")
    assert "net:[" not in descriptors
    assert "user:[" not in descriptors
    assert "tcp" not in descriptors
    assert {name for name, word in found.items() if word == "ok"} == set()


def test_nothing_of_a_connection_is_left_for_the_next_command(alone: World) -> None:
    code = r"""
with socket.create_server(("127.0.0.1", ARGS["port"])) as server:
    ours = socket.create_connection(server.getsockname())
    theirs = server.accept()[0]
    theirs.close()
    ours.close()
"""
    at_once(alone, (code, {}, {}))
    found = alone.python(r"""say("rows", len(open("/proc/net/tcp").readlines()))""").results
    assert found["rows"] == "1"


def test_each_box_has_its_own_way_out(alone: World) -> None:
    """Two commands at once in one network: each goes out by its own proxy, and its report is its own."""
    code = r"""
import urllib.request
proxy = os.environ["HTTP_PROXY"]
spill(ROOT + "/" + ARGS["me"])
wait_for("one", "two")
try:
    urllib.request.urlopen("http://%s.example/" % ARGS["me"], timeout=20)
except OSError as problem:
    say("asked", problem.code)
say("proxy", proxy)
say("no proxy", os.environ["NO_PROXY"])
"""
    arguments = [{"root": str(alone.root), "out": str(alone.out), "me": me} for me in ("one", "two")]
    profile = alone.profile(net=["listed.example"])
    asked = [
        request([PYTHON, "-IS", "-c", with_prelude(WAIT + code), json.dumps(args)], alone.root, profile)
        for args in arguments
    ]
    found = alone.runner.run_many(asked)
    assert [answer.results["asked"] for answer in found] == ["403", "403"]
    assert len({answer.results["proxy"] for answer in found}) == 2
    hosts = [[one["host"] for one in answer.network] for answer in found]
    assert hosts == [["one.example"], ["two.example"]]


def test_a_process_ended_by_force_leaves_no_box(alone: World) -> None:
    alone.runner.send(request(["sleep", "60"], alone.root, alone.profile()))
    alone.runner.kill()
    assert ended(alone.runner.mark)
