"""Mounts that make read-only, cover, hide and pin, in namespaces of their own."""

import os
from collections.abc import Iterator
from errno import EACCES, EBUSY, EINVAL, ELOOP, ENOENT, ENOSPC, ENOTDIR, EROFS, ESTALE, EXDEV
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls, mounts
from sandbox.linux.children import errno_of, errno_of_writing, ground, inside, memory_folder

WHO = pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])


@pytest.fixture
def root(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A workspace with something to protect deep in it, as its user would have made it."""
    user = "user" in request.fixturenames and request.getfixturevalue("user")
    with ground(user=user) as folder:
        (folder / "a" / "b" / ".git").mkdir(parents=True)
        (folder / "a" / "b" / ".git" / "config").write_text("safe")
        (folder / "a" / "file").write_text("mine")
        for path in [folder, *folder.rglob("*")]:
            if user and os.getuid() == 0:
                os.chown(path, 65534, 65534)
        yield folder


@WHO
def test_all_is_read_only_but_a_root(root: Path, user: bool) -> None:
    with ground(user=user) as other:

        def build() -> None:
            tree = mounts.clone(str(root))
            mounts.seal("/")
            mounts.harden(tree)
            mounts.attach(tree, str(root))

        def body() -> list[object]:
            return [
                errno_of_writing(root / "new"),
                errno_of_writing(other / "new"),
                errno_of(os.chmod, other, 0o700),
                errno_of(os.utime, other),
                errno_of(os.rename, root / "new", other / "new"),
                mounts.is_readonly(str(root)),
                mounts.is_readonly(str(other)),
                bool(os.statvfs(root).f_flag & os.ST_NODEV),
                bool(os.statvfs("/").f_flag & os.ST_NOSUID),
            ]

        assert inside(body, before=build, user=user) == [
            0,
            EROFS,
            EROFS,
            EROFS,
            EXDEV,
            False,
            True,
            True,
            True,
        ]
        assert not list(other.iterdir())
    assert (root / "new").exists()


@WHO
def test_what_is_protected_is_read_only_and_pinned(root: Path, user: bool) -> None:
    protected = root / "a" / "b" / ".git"

    def build() -> None:
        tree = mounts.clone(str(root))
        for folder in (root / "a", root / "a" / "b"):
            mounts.pin(str(folder))
        kept = mounts.clone(str(protected))
        mounts.seal("/")
        mounts.attach(tree, str(root))
        mounts.seal(kept)
        mounts.attach(kept, str(protected))

    def body() -> dict[str, int]:
        return {
            "write": errno_of_writing(protected / "config"),
            "make": errno_of_writing(protected / "hooks"),
            "chmod": errno_of(os.chmod, protected / "config", 0o777),
            "move": errno_of(os.rename, protected, root / "x"),
            "remove": errno_of(os.rmdir, protected),
            "move parent": errno_of(os.rename, root / "a" / "b", root / "x"),
            "move ancestor": errno_of(os.rename, root / "a", root / "x"),
            "alias": errno_of(os.link, protected / "config", root / "alias"),
            "beside": errno_of_writing(root / "a" / "b" / "new"),
            "link across": errno_of(os.link, root / "a" / "file", root / "a" / "b" / "file"),
            "rename across": errno_of(os.rename, root / "a" / "b" / "new", root / "moved"),
        }

    given = inside(body, before=build, user=user)
    assert given == {
        "write": EROFS, "make": EROFS, "chmod": EROFS, "move": EBUSY, "remove": EBUSY, "move parent": EBUSY,
        "move ancestor": EBUSY, "alias": EXDEV, "beside": 0, "link across": 0, "rename across": 0,
    }  # fmt: skip
    assert (protected / "config").read_text() == "safe"
    assert (root / "moved").exists()


def test_a_link_is_never_followed(root: Path) -> None:
    (root / "link").symlink_to("a")

    def body() -> list[int]:
        return [
            errno_of(mounts.clone, str(root / "link")),
            errno_of(mounts.clone, str(root / "link" / "b")),
            errno_of(lambda: mounts.attach(mounts.clone(str(root / "a")), str(root / "link"))),
            errno_of(lambda: memory_folder(str(root / "link"), size=4096)),
            errno_of(lambda: mounts.mask([str(root / "link")])),
            errno_of(lambda: mounts.mask([str(root / "link" / "file")])),
            errno_of(mounts.make_folder, str(root / "link" / "new")),
        ]

    assert inside(body) == [ELOOP] * 7
    assert not (root / "a" / "new").exists()


def test_another_in_the_place_of_a_root_is_refused(root: Path) -> None:
    found = root.stat()
    right, wrong = (found.st_dev, found.st_ino), (found.st_dev, found.st_ino + 1)

    def body() -> list[int]:
        tree = mounts.clone(str(root), identity=right)
        return [
            errno_of(lambda: mounts.clone(str(root), identity=wrong)),
            errno_of(lambda: mounts.protect(str(root), identity=wrong)),
            errno_of(lambda: mounts.attach(tree, str(root / "missing"))),
            errno_of(os.fstat, tree),  # attached or not, it is closed
        ]

    assert inside(body) == [ESTALE, ESTALE, ENOENT, 9]


@WHO
def test_masks(root: Path, user: bool) -> None:
    def build() -> None:
        mounts.mask([str(root / "a" / "b"), str(root / "a" / "file")])

    def body() -> list[object]:
        calls.capset(0, 0, 0)
        before = [
            errno_of(os.listdir, root / "a" / "b"),
            errno_of(os.stat, root / "a" / "b" / ".git" / "config"),
            errno_of(os.chmod, root / "a" / "b", 0o777),
            errno_of((root / "a" / "file").read_text),
            errno_of_writing(root / "a" / "file"),
            errno_of(os.unlink, root / "a" / "file"),
        ]
        mounted = Path("/proc/self/mountinfo").read_text()
        return [
            *before,
            mounted.count(str(root)),
            sum(line.split()[4] == "/" for line in mounted.splitlines()),
        ]

    *given, covers, roots = inside(body, before=build, user=user)
    assert given == [EACCES, EACCES, EROFS, EACCES, EACCES, EBUSY]
    assert covers == 2
    assert roots == 1  # the store of masks is gone
    assert (root / "a" / "file").read_text() == "mine"


def test_a_mask_of_nothing_fails_and_leaves_nothing(root: Path) -> None:
    def body() -> tuple[int, int]:
        before = len(os.listdir("/proc/self/fd"))
        mounts.mask([])
        failed = errno_of(mounts.mask, [str(root / "a" / "file"), str(root / "missing")])
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        assert sum(line.split()[4] == "/" for line in lines) == 1
        assert len(os.listdir("/proc/self/fd")) == before
        return failed, len((root / "a" / "file").read_text())

    assert inside(body) == (2, 0)


@WHO
def test_a_folder_in_memory_has_an_end(root: Path, user: bool) -> None:
    def body() -> list[object]:
        memory_folder(str(root), size=1 << 16, inodes=16)
        empty = os.listdir(root)
        fd = os.open(root / "big", os.O_CREAT | os.O_WRONLY)
        full = errno_of(lambda: [os.write(fd, b"x" * 4096) for _ in range(64)])
        os.close(fd)
        os.unlink(root / "big")
        many = errno_of(lambda: [(root / str(number)).write_bytes(b"") for number in range(64)])
        return [empty, full, many, root.stat().st_mode & 0o7777]

    assert inside(body, user=user) == [[], ENOSPC, ENOSPC, 0o1777]
    assert (root / "a").exists()


@WHO
def test_a_root_below_what_is_covered_comes_back(user: bool) -> None:
    """A workspace under /tmp, with a /tmp of its own."""
    with ground(user=user) as root, ground(user=user) as sibling:

        def body() -> list[object]:
            tree = mounts.clone(str(root))
            mounts.seal("/")
            memory_folder("/tmp", size=1 << 20)
            mounts.make_folder(str(root))
            mounts.attach(tree, str(root))
            (root / "new").touch()
            Path("/tmp/agent-exec-box").touch()
            return [os.path.exists(sibling), errno_of_writing("/etc/agent-exec-box")]

        assert inside(body, user=user) == [False, EROFS]
        assert (root / "new").exists()
        assert not os.path.exists("/tmp/agent-exec-box")


def test_binding_elsewhere(root: Path) -> None:
    def body() -> list[object]:
        tree = mounts.clone(str(root / "a" / "b"))
        mounts.seal(tree)
        mounts.attach(tree, str(root))
        return [
            os.listdir(root),
            errno_of_writing(root / "new"),
            errno_of(lambda: mounts.attach(mounts.clone("/etc/passwd"), "/tmp")),
        ]

    *given, file_on_folder = inside(body)
    assert given == [[".git"], EROFS]
    assert file_on_folder in (EINVAL, ENOTDIR)
