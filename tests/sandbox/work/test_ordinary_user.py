"""What a caller that is nobody in particular gets: the same ends, rights and limits; its work is in `space`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_exec.sandbox.profile import BoxLimits
from sandbox.work.boxes import NOBODY, ORDINARY, Space, User, folder_elsewhere

pytestmark = pytest.mark.skipif(
    not ORDINARY, reason="only root can be somebody else; all tests are these then"
)


@pytest.fixture
def theirs(site: Path) -> Iterator[Space]:
    """A workspace of an ordinary user."""
    with folder_elsewhere() as root:
        user = User(site)
        yield Space(root, user)
        user.close()


def test_its_identity(theirs: Space) -> None:
    assert theirs.sh("id -u; tr -s ' ' </proc/self/uid_map") == f"{NOBODY}\n {NOBODY} {NOBODY} 1\n"
    assert (
        theirs.sh("! unshare -U true 2>/dev/null; ! mount -t tmpfs none /tmp 2>/dev/null; echo no") == "no\n"
    )


def test_its_ends(theirs: Space) -> None:
    out = theirs.run("sh", "-c", "setsid sleep 600 & sleep 600", timeout=0.3)
    assert (out.cause, out.signal) == ("timeout", "SIGTERM")
    out = theirs.run("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & exit 3")
    assert (out.exit_code, out.leaked) == (3, True)
    assert theirs.run("wc", "-c", stdin=b"x" * (8 << 20)).stdout.strip() == b"%d" % (8 << 20)


def test_many_at_once(theirs: Space) -> None:
    outcomes = theirs.at_once(*(["echo", str(number)] for number in range(6)))
    assert [out.stdout for out in outcomes] == [b"%d\n" % number for number in range(6)]
    small = theirs.wearing(limits=BoxLimits(procs=400))
    assert small.sh("for n in $(seq 50); do echo $n & done | sort -n | tail -1; wait") == "50\n"
