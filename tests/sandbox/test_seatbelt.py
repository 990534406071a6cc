"""The profile for macOS, as text: a small reader decides by it as the system is said to, for none can be asked here."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox import seatbelt
from agent_exec.sandbox.plan.plan import Plan, Root, make_plan
from agent_exec.sandbox.profile import BoxLimits, Profile

Form: TypeAlias = "str | list[Form]"

OPERATIONS = set(
    "default file-read* file-read-data file-read-metadata file-map-executable file-write* file-write-data"
    " file-write-create"
    " file-write-unlink file-write-setugid file-ioctl file-link file-clone process-exec* process-fork process-info*"
    " signal sysctl-read mach-lookup ipc-posix-sem ipc-posix-shm* system-socket pseudo-tty network*"
    " network-outbound network-bind network-inbound".split()
)
"""Names that the system is known to know: another one would keep it from reading the profile at all."""

WRITES = (
    "file-write-create",
    "file-write-data",
    "file-write-flags",
    "file-write-mode",
    "file-write-owner",
    "file-write-times",
    "file-write-unlink",
    "file-write-xattr",
)
READS = ("file-read-data", "file-read-metadata", "file-read-xattr")
ODD = ('a"b', "a\nb", "a)b", '") (allow default) ("', "a b", "a;b", "a\\", 'param "ROOT_0"', "=x", "-D", "#")


class Text(str):
    """A string of the profile, which is not a name."""

    __slots__ = ()


class Pattern(Text):
    """A pattern of the profile."""

    __slots__ = ()


def read(source: str) -> list[Form]:
    """Return the forms of a text; refuse what is not balanced."""
    token = re.compile(r'\s*(?:(\()|(\))|(#?)"((?:[^"\\]|\\.)*)"|([^\s()"]+))')
    stack: list[list[Form]] = [[]]
    place = 0
    while source[place:].strip():
        found = token.match(source, place)
        assert found, source[place : place + 40]
        place = found.end()
        if found[1]:
            stack.append([])
        elif found[2]:
            done = stack.pop()
            stack[-1].append(done)
        elif found[5]:
            stack[-1].append(found[5])
        else:
            stack[-1].append(Pattern(found[4]) if found[3] else Text(found[4].replace("\\", "")))
    assert len(stack) == 1, "not balanced"
    return stack[0]


class Sandbox:
    """What a profile decides."""

    def __init__(self, plan: Plan, port: int = 0) -> None:
        words = seatbelt.wrap(plan, ["/bin/true"], port)
        defined = words[3 : words.index("--")]
        self.params = dict(word.split("=", 1) for word in defined[1::2])
        forms = read(words[2])
        assert forms[:2] == [["version", "1"], ["deny", "default"]]
        self.rules: list[tuple[str, list[str], list[Form]]] = []
        for form in forms[1:]:
            assert isinstance(form, list)
            verb, *rest = form
            assert verb in {"allow", "deny"}, form
            names = [one for one in rest if isinstance(one, str)]
            assert set(names) <= OPERATIONS, names
            assert not any(isinstance(one, Text) for one in names), names
            assert rest[: len(names)] == names, "filters come after the operations"
            self.rules.append((str(verb), names, rest[len(names) :]))

    def matching(self, operation: str, path: str = "", **facts: object) -> list[str]:
        """Return the verbs of all rules that match, in order."""
        return [
            verb
            for verb, names, filters in self.rules
            if any(_covers(name, operation) for name in names)
            and (not filters or any(self._true(one, path, facts) for one in filters))
        ]

    def decide(self, operation: str, path: str = "", **facts: object) -> str:
        """Decide as the last rule that matches says."""
        return self.matching(operation, path, **facts)[-1]

    def all(self, operations: Sequence[str], path: str, **facts: object) -> set[str]:
        return {self.decide(operation, path, **facts) for operation in operations}

    def may_move(self, old: str, new: str) -> bool:
        return self.decide("file-write-unlink", old) == self.decide("file-write-create", new) == "allow"

    def _value(self, form: Form) -> str:
        if isinstance(form, list):
            assert form[0] == "param", form
            assert isinstance(form[1], Text)
            return self.params[form[1]]
        assert isinstance(form, Text), form
        return form

    def _true(self, form: Form, path: str, facts: dict[str, object]) -> bool:
        assert isinstance(form, list), form
        kind, *rest = form
        match kind:
            case "require-all":
                return all(self._true(one, path, facts) for one in rest)
            case "require-not":
                assert len(rest) == 1
                return not self._true(rest[0], path, facts)
            case "literal":
                return path == self._value(rest[0])
            case "subpath":
                return (path + "/").startswith(self._value(rest[0]) + "/")
            case "regex":
                assert isinstance(rest[0], Pattern)
                return bool(re.search(rest[0], path))
            case "sysctl-name-prefix" | "ipc-posix-name-prefix":
                return str(facts.get("name", "")).startswith(self._value(rest[0]))
            case "sysctl-name" | "global-name":
                return facts.get("name") == self._value(rest[0])
            case "remote" | "local":
                return facts.get(kind) in {(rest[0], rest[1]), ("tcp" if rest[0] == "ip" else "", rest[1])}
            case "target" | "vnode-type" | "extension" | "socket-domain":
                return facts.get(kind.replace("-", "_")) == rest[0]
        raise AssertionError(f"the reader does not know {form}")


def _covers(name: str, operation: str) -> bool:
    return name in {"default", operation} or (name.endswith("*") and operation.startswith(name[:-1]))


def plan(
    *roots: str,
    name: str = "workspace-write",
    protected: Sequence[str] = (),
    masks: Sequence[str] = (),
    absent: Sequence[str] = (),
    missing: Sequence[str] = (),
    **fields: object,
) -> Plan:
    profile = Profile(name, roots, **fields)  # type: ignore[arg-type]
    return Plan(
        profile,
        roots=tuple(Root(path, 1, number) for number, path in enumerate(roots)),
        protected=tuple(protected),
        identities=((1, 1),) * len(protected),
        masks=tuple(masks),
        absent=tuple(absent),
        missing=tuple(missing),
    )


def test_what_is_below_a_root_may_be_written_and_nothing_else() -> None:
    box = Sandbox(plan("/w", "/other/x"))
    for path in ("/w/file", "/w/a/b/c", "/other/x/file"):
        assert box.all(WRITES, path) == {"allow"}
    outside = (
        "/",
        "/w2",
        "/w2/file",
        "/wfile",
        "/other",
        "/other/file",
        "/other/x2",
        "/etc/hosts",
        "/private/tmp/x",
        "/dev/disk0",
    )
    for path in outside:
        assert box.all(WRITES, path) == {"deny"}
    for path in ("/w", "/w/file", "/etc/hosts", "/Users/me/file", "/private/tmp/x"):
        assert box.all(READS, path) == {"allow"}


def test_a_read_only_profile_writes_nowhere() -> None:
    visible = plan(name="read-only").replace(visible=(Root("/w", 1, 2),))
    for box in (Sandbox(visible), Sandbox(plan("/w", name="read-only"))):
        assert box.all(WRITES, "/w/file") == {"deny"}
        assert box.all(READS, "/w/file") == {"allow"}
        assert box.decide("file-write-data", "/dev/null") == "allow"
    assert "ROOT_0" not in seatbelt.parameters(plan("/w", name="read-only"))


def test_what_is_protected_stays_as_it_is() -> None:
    kept = ("/w/.git", "/w/sub/deep/.git", "/w/.mcp.json", "/w/sub/.vscode", "/v/.git")
    box = Sandbox(plan("/w", "/v", protected=kept))
    for path in kept:
        for inner in (path, f"{path}/config", f"{path}/hooks/pre-commit"):
            assert box.all(WRITES, inner) == {"deny"}
            assert box.all(READS, inner) == {"allow"}
            # Even if the order of rules did not count: nothing allows it in the first place.
            for operation in set(WRITES) - {"file-write-create", "file-write-unlink"}:
                assert "allow" not in box.matching(operation, inner)
                assert box.matching(operation, inner).count("deny") == 2
    for path in ("/w/.gitignore", "/w/.git2/config", "/w/.mcp.json5", "/w/sub/deep/file", "/w/x/.git/config"):
        assert box.all(WRITES, path) == {"allow"}


def test_a_protection_of_one_root_is_of_that_root() -> None:
    box = Sandbox(plan("/w", "/w2", protected=("/w/.git",)))
    assert box.all(WRITES, "/w2/.git/config") == {"allow"}
    assert box.all(WRITES, "/w/.git/config") == {"deny"}


def test_what_is_missing_may_appear_for_it_is_reported() -> None:
    box = Sandbox(plan("/w", missing=("/w/.vscode",)))
    assert box.all(WRITES, "/w/.vscode") == {"allow"}
    assert box.all(WRITES, "/w/.vscode/settings.json") == {"allow"}


def test_roots_and_the_folders_above_what_is_protected_cannot_be_moved_away() -> None:
    box = Sandbox(plan("/w", "/v/a", protected=("/w/sub/deep/.git", "/v/a/.git"), masks=("/w/keep/secret",)))
    for path in ("/w", "/v/a", "/w/sub", "/w/sub/deep", "/w/keep", "/w/sub/deep/.git", "/w/keep/secret"):
        assert not box.may_move(path, "/w/elsewhere"), path
        assert not box.may_move("/w/elsewhere", path), path
        assert box.decide("file-write-unlink", path) == "deny"
    for path in ("/w", "/w/sub", "/w/sub/deep", "/w/keep"):
        assert box.decide("file-write-mode", path) == "allow", "they are the command's otherwise"
    for path in ("/w/sub2", "/w/sub/other", "/w/sub/deep/file", "/w/subdeep"):
        assert box.may_move(path, "/w/elsewhere")
    for path in ("/v", "/"):
        assert not box.may_move(path, "/w/elsewhere")


def test_masks_can_be_neither_read_nor_written_nor_taken_along() -> None:
    masks = ("/Users/me/.ssh", "/Users/me/.netrc", "/w/secrets", "/w/a/.env")
    box = Sandbox(plan("/w", masks=masks))
    for path in masks:
        for inner in (path, f"{path}/inner"):
            assert box.all((*READS, *WRITES), inner) == {"deny"}
            taken = ("file-map-executable", "process-exec", "process-exec-interpreter", "file-link")
            assert box.all(taken, inner) == {"deny"}
            assert box.decide("file-clone", inner, vnode_type="REGULAR-FILE") == "deny"
            assert "allow" not in box.matching("file-clone", inner, vnode_type="REGULAR-FILE")
            assert "allow" not in box.matching("file-write-data", inner)
    for path in ("/Users/me/.ssh2", "/Users/me", "/w/a/.env2", "/w/secret"):
        assert box.all(READS, path) == {"allow"}
        assert box.decide("process-exec", path) == "allow"


def test_masks_are_denied_in_a_read_only_profile_too() -> None:
    box = Sandbox(plan(name="read-only", masks=("/Users/me/.ssh",)))
    assert box.all(READS, "/Users/me/.ssh/id") == {"deny"}


def test_what_would_be_masked_is_hidden_before_it_exists_unless_the_command_may_make_it() -> None:
    box = Sandbox(plan("/w", absent=("/Users/me/.aws", "/w/.env")))
    assert box.all(READS, "/Users/me/.aws/credentials") == {"deny"}
    assert box.all((*READS, *WRITES), "/w/.env") == {"allow"}


def test_no_hard_links_no_clones_of_folders_and_no_set_id_bits() -> None:
    box = Sandbox(plan("/w"))
    for path in ("/w/file", "/etc/hosts"):
        assert box.matching("file-link", path) == ["deny", "deny"], "by default, and by name"
        assert box.decide("file-clone", path, vnode_type="DIRECTORY") == "deny"
        assert box.decide("file-clone", path, vnode_type="REGULAR-FILE") == "allow"
    assert box.decide("file-write-setugid", "/w/file") == "deny"
    assert box.decide("forbidden-exec-sugid", "/bin/ps") == "deny"


def test_devices_are_few() -> None:
    box = Sandbox(plan("/w"))
    for path in ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/fd/1"):
        assert box.all(("file-read-data", "file-write-data"), path) == {"allow"}
        assert box.all(("file-write-unlink", "file-write-create", "file-write-mode"), path) == {"deny"}
    for path in ("/dev/urandom", "/dev/random", "/dev"):
        assert (box.decide("file-read-data", path), box.decide("file-write-data", path)) == ("allow", "deny")
    for path in ("/dev/disk0", "/dev/rdisk0", "/dev/bpf0", "/dev/null2", "/dev/ttys001"):
        assert box.all(("file-read-data", "file-write-data"), path) == {"deny"}
        assert box.decide("file-read-metadata", path) == "allow"
    assert box.decide("file-ioctl", "/dev/bpf0") == "deny"


def test_only_its_own_terminals_are_opened() -> None:
    box = Sandbox(plan("/w"))
    both = ("file-read-data", "file-write-data")
    assert box.all(both, "/dev/ttys001", extension="com.apple.sandbox.pty") == {"allow"}
    assert box.all(both, "/dev/disk0", extension="com.apple.sandbox.pty") == {"deny"}
    assert box.decide("file-ioctl", "/dev/ttys001") == "allow", "it may be the one that it was given"
    assert box.decide("file-ioctl", "/dev/ttys001/x") == "deny"
    assert box.decide("pseudo-tty") == "allow"


def test_commands_run_and_reach_only_their_own() -> None:
    box = Sandbox(plan("/w"))
    for operation in ("process-fork", "process-exec", "process-exec-interpreter", "file-map-executable"):
        assert box.decide(operation, "/bin/sh") == "allow"
    for operation in ("signal", "process-info-pidinfo"):
        assert box.decide(operation, target="same-sandbox") == "allow"
        assert box.decide(operation, target="others") == "deny"
    foreign = (
        "mach-register",
        "mach-priv-task-port",
        "iokit-open",
        "lsopen",
        "appleevent-send",
        "job-creation",
    )
    assert {
        box.decide(operation) for operation in (*foreign, "sysctl-write", "ipc-sysv-shm", "nvram-set")
    } == {"deny"}


def test_few_services_and_facts() -> None:
    box = Sandbox(plan("/w"))
    assert box.decide("mach-lookup", name="com.apple.system.opendirectoryd.libinfo") == "allow"
    for name in (
        "com.apple.SecurityServer",
        "com.apple.pasteboard.1",
        "com.apple.trustd.agent",
        "com.apple.cfprefsd.agent",
    ):
        assert box.decide("mach-lookup", name=name) == "deny", name
    for name in ("hw.ncpu", "kern.osrelease", "kern.argmax"):
        assert box.decide("sysctl-read", name=name) == "allow", name
    for name in ("kern.proc.all", "kern.procargs2", "net.routetable", "kern.osreleasex"):
        assert box.decide("sysctl-read", name=name) == "deny", name
    assert box.decide("ipc-posix-sem") == "allow"
    assert box.decide("ipc-posix-shm-write-create", name="/psm_1") == "allow"
    assert box.decide("ipc-posix-shm-read-data", name="apple.cfprefs.501") == "deny"


LOOPBACK = ("tcp", "localhost:8080")
UNIX = "/private/var/run/docker.sock"


@pytest.mark.parametrize("port", [0, 8080])
def test_without_the_network_there_is_none(port: int) -> None:
    box = Sandbox(plan("/w"), port)
    assert box.matching("network-outbound", remote=LOOPBACK) == ["deny", "deny"], "by default, and by name"
    assert box.decide("network-outbound", remote=("ip", "*:*")) == "deny"
    for operation in ("network-bind", "network-inbound"):
        assert box.decide(operation, local=("ip", "*:*")) == "deny"
    for path in (UNIX, "/private/var/run/mDNSResponder", "/w/socket"):
        assert {box.decide(f"network-{what}", path) for what in ("outbound", "bind", "inbound")} == {"deny"}
    assert box.decide("system-socket", socket_domain="AF_UNIX") == "allow", "a pair of sockets"
    assert box.decide("system-socket", socket_domain="AF_SYSTEM") == "deny"


def test_a_list_of_hosts_is_the_way_to_the_proxy() -> None:
    hosts = plan("/w", net=["example.test:443"])
    box = Sandbox(hosts, 8080)
    assert box.decide("network-outbound", remote=LOOPBACK) == "allow"
    for remote in (
        ("tcp", "localhost:8081"),
        ("tcp", "localhost:80"),
        ("tcp", "*:8080"),
        ("ip", "*:*"),
        ("udp", "localhost:8080"),
    ):
        assert box.decide("network-outbound", remote=remote) == "deny", remote
    assert box.decide("network-outbound", "/private/var/run/mDNSResponder") == "deny"
    assert box.decide("network-bind", local=("ip", "*:*")) == "deny"
    assert box.decide("mach-lookup", name="com.apple.trustd.agent") == "deny"
    without = Sandbox(hosts)
    assert without.decide("network-outbound", remote=("tcp", "localhost:0")) == "deny"


def test_with_the_network_unix_sockets_stay_closed() -> None:
    box = Sandbox(plan("/w", net="on"))
    assert box.decide("network-outbound", remote=("ip", "*:*")) == "allow"
    assert {box.decide(f"network-{what}", local=("ip", "*:*")) for what in ("bind", "inbound")} == {"allow"}
    assert box.decide("network-outbound", "/private/var/run/mDNSResponder") == "allow"
    for path in (UNIX, "/w/socket"):
        assert {box.decide(f"network-{what}", path) for what in ("outbound", "bind", "inbound")} == {"deny"}
    assert box.decide("mach-lookup", name="com.apple.trustd.agent") == "allow"
    assert box.decide("mach-lookup", name="com.apple.SecurityServer") == "deny"


@pytest.mark.parametrize("port", [-1, 65536, "80", 80.0, True, '1")) (allow default) ((x "'])
def test_a_port_is_a_number(port: int) -> None:
    with pytest.raises(InvalidArgument, match="port must be"):
        seatbelt.text(plan("/w", net=["example.test"]), port)


@pytest.mark.parametrize("odd", ODD)
def test_no_name_changes_the_rules(odd: str) -> None:
    told = plan(f"/{odd}", protected=(f"/{odd}/in/{odd}",), masks=(f"/m/{odd}",))
    plain = plan("/w", protected=("/w/in/p",), masks=("/m/x",))
    assert seatbelt.text(told) == seatbelt.text(plain)
    box = Sandbox(told)
    assert box.all(WRITES, f"/{odd}/file") == {"allow"}
    assert box.all(WRITES, f"/{odd}/in/{odd}/x") == {"deny"}
    assert box.decide("file-write-unlink", f"/{odd}/in") == "deny"
    assert box.all((*READS, *WRITES), f"/m/{odd}/x") == {"deny"}
    assert box.all(WRITES, "/etc/hosts") == {"deny"}


def test_every_path_is_a_parameter_and_every_parameter_is_used() -> None:
    told = plan("/w", "/v", protected=("/w/a/.git", "/v/.git"), masks=("/m",), absent=("/n",))
    assert seatbelt.parameters(told) == {
        "ROOT_0": "/w",
        "ROOT_1": "/v",
        "PROTECTED_0": "/w/a/.git",
        "PROTECTED_1": "/v/.git",
        "MASK_0": "/m",
        "MASK_1": "/n",
        "ABOVE_0": "/w/a",
    }
    used = set(re.findall(r'\(param "(\w+)"\)', seatbelt.text(told)))
    assert used == set(seatbelt.parameters(told))


def test_the_words_that_run_a_command() -> None:
    told = plan("/w x", masks=("/m\n=",))
    command = ["-p", "--", "(version 1)", ""]
    assert seatbelt.wrap(told, command) == [
        "/usr/bin/sandbox-exec",
        "-p",
        seatbelt.text(told),
        "-D",
        "ROOT_0=/w x",
        "-D",
        "MASK_0=/m\n=",
        "--",
        *command,
    ]
    hosts = plan("/w", net=["example.test"])
    assert seatbelt.wrap(hosts, ["true"], 81)[2] == seatbelt.text(hosts, 81) != seatbelt.text(hosts)
    with pytest.raises(InvalidArgument, match="no command"):
        seatbelt.wrap(told, [])


def test_a_plan_of_real_folders(tmp_path: Path) -> None:
    root = tmp_path / 'wo"rk\n(x)'
    (root / "lib" / "inner" / ".git").mkdir(parents=True)
    (root / ".vscode").mkdir()
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".pyenv").mkdir()
    made = make_plan(
        Profile("workspace-write", [root], deny_read=["~/.ssh", "~/.aws", "*.pem"]), home=str(home), own=()
    )
    box = Sandbox(made)
    assert box.all(WRITES, f"{root}/lib/inner/file") == {"allow"}
    for kept in (f"{root}/lib/inner/.git/config", f"{root}/.vscode/x", f"{home}/x", f"{root}2/x"):
        assert box.all(WRITES, kept) == {"deny"}, kept
    for folder in (root, root / "lib", root / "lib" / "inner"):
        assert not box.may_move(str(folder), f"{root}/y")
    for hidden in (f"{home}/.ssh/id", f"{home}/.aws/credentials", f"{home}/notes"):
        assert box.all(READS, hidden) == {"deny"}
    assert box.all(("file-read-data",), f"{home}/.pyenv/version") == {"allow"}
    assert box.all(WRITES, f"{root}/.mcp.json") == {"allow"}, "it was missing, and is reported"


def test_what_is_not_enforced_is_said() -> None:
    def told(**fields: object) -> str:
        return "\n".join(seatbelt.unenforced(Plan(Profile("workspace-write", ["/w"], **fields))))  # type: ignore[arg-type]

    always = "variables of this user's other processes,outlive,semaphores,not filtered,ignores case".split(
        ","
    )
    for words in (*always, "private /tmp", "loopback", "limit of processes"):
        assert words in told(), words
    assert "limit of memory" not in told()
    limits = BoxLimits(procs=None, cpu=1, memory_mb=1, file_mb=1, open_files=16)
    bounded = told(limits=limits, tmp="shared", net="on")
    for words in (
        "limit of CPU seconds",
        "limit of memory",
        "limit of the size of a file",
        "limit of open files",
    ):
        assert words in bounded, words
    for words in ("limit of processes", "private /tmp", "loopback"):
        assert words not in bounded, words
    assert "check certificates" in bounded
    assert "loopback" in told(net=["example.test"])
    assert "check certificates" not in told(net=["example.test"])


def test_the_reader_can_tell_apart() -> None:
    with pytest.raises(AssertionError, match="not balanced"):
        read("(allow (x)")
    with pytest.raises(IndexError):
        read("(allow))")
    assert read('(a "b\\"c" (d #"e"))') == [["a", 'b"c', ["d", "e"]]]
