"""The network: nothing outside is reached, by any family of sockets (cases 38-40)."""

import os
import platform

import pytest

from sandbox.attacks.ground import World, Worlds, listeners

REACH = r"""
def stream(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(5)
        sock.connect(tuple(address) if isinstance(address, list) else address)
def gram(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"evil", tuple(address) if isinstance(address, list) else address)
        if family != socket.AF_UNIX and ARGS["answers"]:
            raise OSError(errno.ENETUNREACH, "sent, but who knows where")
attempt("tcp4", lambda: stream(socket.AF_INET, ARGS["tcp4"]))
attempt("tcp6", lambda: stream(socket.AF_INET6, ARGS["tcp6"]))
attempt("udp4", lambda: gram(socket.AF_INET, ARGS["udp4"]))
attempt("udp6", lambda: gram(socket.AF_INET6, ARGS["udp6"]))
attempt("unix", lambda: stream(socket.AF_UNIX, ARGS["unix"]))
attempt("unixgram", lambda: gram(socket.AF_UNIX, ARGS["unixgram"]))
attempt("abstract", lambda: stream(socket.AF_UNIX, ARGS["abstract"]))
attempt("abstractgram", lambda: gram(socket.AF_UNIX, ARGS["abstractgram"]))
def paired(kind, address):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.connect(address)
attempt("pair connected again", lambda: paired(socket.SOCK_DGRAM, ARGS["unixgram"]))
def paired_send():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendmsg([b"evil"], [], 0, ARGS["unixgram"])
attempt("pair sends elsewhere", paired_send)
def high():
    fd = syscall(ARGS["socket"], 0x100000001, 1, 0)
    socket.socket(fileno=fd).connect(ARGS["unix"])
attempt("high bits in the family", high)
def by_shell():
    import subprocess
    host, port = ARGS["tcp4"]
    done = subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/{host}/{port}"], capture_output=True)
    if done.returncode:
        raise OSError(errno.ECONNREFUSED, "")
attempt("/dev/tcp", by_shell)
"""


def test_no_process_outside_is_reached(worlds: Worlds) -> None:
    numbers = {"socket": 198 if platform.machine() == "aarch64" else 41}
    free = worlds()
    with listeners(free) as (where, visitors):
        found = free.python(REACH, boxed=False, args={**where, **numbers, "answers": False})
        assert {name for name, word in found.results.items() if word != "ok"} == set()
        came = visitors()
        assert set(came) == set(where)
    world = worlds()
    with listeners(world) as (where, visitors):
        found = world.python(REACH, args={**where, **numbers, "answers": True})
        assert not found.made
        assert visitors() == []


def test_odd_sockets_are_refused(world: World) -> None:
    """Families and types that lead around the namespace, or that nobody has thought through."""
    code = r"""
families = dict(AF_UNIX=1, AF_AX25=3, AF_NETROM=6, AF_BRIDGE=7, AF_X25=9, AF_KEY=15, AF_PACKET=17, AF_RDS=21, AF_PPPOX=24,
    AF_CAN=29, AF_TIPC=30, AF_BLUETOOTH=31, AF_ALG=38, AF_NFC=39, AF_VSOCK=40, AF_KCM=41, AF_QIPCRTR=42, AF_SMC=43, AF_XDP=44)
for name, family in families.items():
    for kind in (1, 2, 3, 5):
        attempt("%s %d" % (name, kind), lambda: socket.socket(family, kind).close())
for name, kind, protocol in (("raw icmp", 3, 1), ("raw", 3, 255), ("sctp", 1, 132), ("sctp seq", 5, 132), ("mptcp", 1, 262),
                             ("udplite", 2, 136), ("dccp", 6, 33), ("packet", 10, 0)):
    attempt(name + " 4", lambda: socket.socket(2, kind, protocol).close())
    attempt(name + " 6", lambda: socket.socket(10, kind, protocol).close())
for protocol in range(1, 23):
    attempt("netlink %d" % protocol, lambda: socket.socket(16, 3, protocol).close())
attempt("pair of datagrams", lambda: socket.socketpair(1, 2))
attempt("pair of raw", lambda: socket.socketpair(1, 3))
attempt("pair of tipc", lambda: socket.socketpair(30, 1))
attempt("high family", lambda: os.close(syscall(ARGS["socket"], (1 << 32) | 1, 1, 0)))
attempt("high vsock", lambda: os.close(syscall(ARGS["socket"], (7 << 40) | 40, 1, 0)))
attempt("high type", lambda: os.close(syscall(ARGS["socket"], 2, (1 << 32) | 3, 1)))
attempt("flags and raw", lambda: os.close(syscall(ARGS["socket"], 2, 3 | 0o2000000, 255)))
"""
    args = {"socket": 198 if platform.machine() == "aarch64" else 41}
    if os.getuid() == 0 and world.runner.uid == 0:
        free = world.python(code, boxed=False, args=args).made
        assert {"AF_UNIX 1", "raw icmp 4", "pair of datagrams", "high family"} <= free.keys()
    assert not world.python(code, args=args).made


def test_the_box_is_alone_on_its_network(world: World) -> None:
    """Case 39: nothing but loopback, which works; no names, no routes, no way to make any."""
    code = r"""
say("interfaces", [name for _, name in socket.if_nameindex()])
server = socket.create_server(("127.0.0.1", 0))
attempt("loopback", lambda: socket.create_connection(server.getsockname()))
server6 = socket.create_server(("::1", 0), family=socket.AF_INET6)
attempt("loopback 6", lambda: socket.create_connection(server6.getsockname()[:2]))
attempt("address", lambda: socket.create_connection(("192.0.2.1", 80), 2))
attempt("address 6", lambda: socket.create_connection(("2001:db8::1", 80), 2))
attempt("name", lambda: socket.getaddrinfo("example.org", 80))
def dns():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("192.0.2.53", 53))
attempt("dns", dns)
def ask(kind, body):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.bind((0, 0))
        sock.send(struct.pack("IHHII", 16 + len(body), kind, 0x405, 1, 0) + body)
        code = struct.unpack_from("i", sock.recv(4096), 16)[0]
        if code:
            raise OSError(-code, "")
attempt("new link", lambda: ask(16, struct.pack("BxHiII", 0, 0, 0, 1, 1) + struct.pack("HH8s", 12, 3, b"dummy0")))
attempt("new address", lambda: ask(20, struct.pack("BBBBI", 2, 8, 0, 0, 1) + struct.pack("HH4s", 8, 2, b"\n\0\0\1")))
attempt("new route", lambda: ask(24, struct.pack("8BI", 2, 0, 0, 0, 254, 4, 0, 1, 0) + struct.pack("HHi", 8, 4, 1)))
attempt("new namespace", lambda: libc.unshare(0x40000000) == 0 or checked(-1))
def multicast():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15) as sock:
        sock.bind((0, 1))
attempt("kernel events", multicast)
"""
    found = world.python(code).results
    assert found.pop("interfaces") == "['lo']"
    assert {found.pop("loopback"), found.pop("loopback 6")} == {"ok"}
    assert {name for name, word in found.items() if word == "ok"} == set()


@pytest.mark.parametrize("net", [[], "off"])
def test_an_empty_list_is_no_network(world: World, net: object) -> None:
    """Case 35: nothing on the list means nothing is reached."""
    with listeners(world) as (where, visitors):
        code = "attempt('tcp', lambda: socket.create_connection(ARGS['tcp4'], 2))"
        assert world.python(code, boxed=False, args=where).made
        assert visitors() == ["tcp4"]
        assert not world.python(code, args=where, net=net).made
        assert visitors() == []
