"""Where a repository is, and which of its parts a command may not change; git itself is never run."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import below, inside
from agent_exec.model.value import Value
from agent_exec.sandbox.plan.gitconfig import obeyed, parse, running
from agent_exec.sandbox.plan.paths import led, read_small, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIXED = ("config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes")
"""Parts of a repository that make git run or read something else; a commit changes none of them."""

_LINKS = ("commondir", "config.worktree", "gitdir")


class Guarded(Value):
    """What a repository asks for: paths to protect, paths to look for later, and what cannot be kept."""

    protected: tuple[str, ...]
    missing: tuple[str, ...]
    unenforced: tuple[str, ...]


class Places(Value):
    """The folders of one repository: its working tree, the `.git` in it, its own and the shared one."""

    worktree: str
    dotgit: str
    folder: str | None
    common: str | None


def locate(dotgit: str, roots: "Sequence[str]") -> Places | None:
    """Return where a `.git` leads, None if it is gone; a link inside a root on the way is refused."""
    if not settle(dotgit, roots, "git")[1]:
        return None
    worktree = os.path.dirname(dotgit)
    folder: str | None = dotgit
    if not os.path.isdir(dotgit):
        folder = _pointed(dotgit, worktree, roots, "gitdir:")
    common = None if folder is None else _pointed(os.path.join(folder, "commondir"), folder, roots, "")
    return Places(worktree, dotgit, folder, common or folder)


def _pointed(file: str, base: str, roots: "Sequence[str]", head: str) -> str | None:
    try:
        text = read_small(file, 1 << 16)
    except OSError:
        return None
    target = text.rstrip("\r\n")
    if not target.startswith(head) or "\0" in target:
        return None
    target = target[len(head) :].lstrip(" ") if head else target
    return settle(os.path.join(base, target), roots, file)[0] if target else None


def guard(
    places: Places, roots: "Sequence[str]", *, commit: bool, home: str, used: "Sequence[str]" = ()
) -> Guarded:
    """Return what must stay as it is in one repository: all of it, or, to commit, what decides what git runs.

    `used` are folders of worktrees in use among the roots, in which HEAD and
    the index must stay writable for commits.
    """
    wanted: list[str] = []
    missing: list[str] = []
    unenforced: list[str] = []
    folders = [folder for folder in dict.fromkeys((places.folder, places.common)) if folder]
    if not commit or places.folder != places.dotgit:
        wanted.append(places.dotgit)
    for folder in folders:
        if commit and below(folder, roots):
            wanted.extend(parts(folder, used))
        else:
            wanted.append(folder)
        wanted.extend(target for name in FIXED for target in led(os.path.join(folder, name)))
    configs = [os.path.join(folder, name) for folder in folders for name in ("config", "config.worktree")]
    configs += [
        "/etc/gitconfig",
        *(os.path.join(home, name) for name in (".gitconfig", ".config/git/config")),
    ]
    for config in configs:
        found, unread = obeyed(config, places.worktree, home)
        wanted.extend(found)
        unenforced.extend(
            f"{file!r} cannot be read: what it has git run inside a root is not protected" for file in unread
        )
    wanted.extend(_submodules(places.worktree))
    protected: list[str] = []
    for path in wanted:
        real, there = settle(path, roots, f"the repository {places.worktree!r}")
        if below(real, roots):
            (protected if there else missing).append(real)
        elif any(inside(root, real) for root in roots) and there:
            unenforced.append(f"git obeys files in {real!r}, which is or holds a root and stays writable")
    return Guarded(
        tuple(dict.fromkeys(protected)), tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(unenforced))
    )


def danger(git: str, roots: "Sequence[str]", known: "Sequence[str]" = ()) -> str:
    """Return what would make git run something of a command's choosing in a repository, "" if nothing would.

    `git` is a repository's folder, or the file that stands for it. A plain
    clone or a fresh `git init` is not dangerous. The `known` repositories are
    protected, but not all that lies in their folders is.
    """
    if os.path.islink(git):
        return "a link"
    if not os.path.isdir(git):
        try:
            head, found, target = read_small(git, 1 << 16).rstrip("\r\n").partition("gitdir: ")
        except OSError:
            return "no file that can be read"
        if head or not found:
            return ""  # no git obeys it
        pointed = _settled(os.path.dirname(git), target, roots)
        if not pointed:
            return "a path that can be changed"
        return danger(pointed, roots, known) if _made(pointed, roots, known) else ""
    for name in ("config", "config.worktree"):
        file = os.path.join(git, name)
        if os.path.lexists(file):
            try:
                found = running(read_small(file), git, _worktree(git, roots))
            except OSError:
                return f"{name}, which cannot be read"
            if found:
                return found
    shared = os.path.join(git, "commondir")
    if os.path.lexists(shared):
        above = os.path.dirname(git)
        try:
            common = _settled(git, read_small(shared, 1 << 16).rstrip("\r\n"), roots)
        except OSError:
            return "commondir, which cannot be read"
        if os.path.basename(above) != "worktrees" or common != os.path.dirname(above):
            return "commondir"
        if _made(common, roots, known) and (found := danger(common, roots, known)):
            return found
    hooks = os.path.join(git, "hooks")
    if os.path.islink(hooks):
        return "hooks, a link"
    try:
        names = os.listdir(hooks)
    except (FileNotFoundError, NotADirectoryError):
        names = []
    except OSError:
        return "hooks, which cannot be read"
    for name in names:
        if not name.endswith(".sample"):
            return f"hooks/{name}"
    for one in inner(git, links=True):  # git goes there for a submodule that is not checked out yet
        if found := danger(one, roots, (*known, git)):
            return f"{found} in {os.path.relpath(one, git)}"
    return ""


def _worktree(git: str, roots: "Sequence[str]") -> str:
    """Return the working tree that a repository's folder names, if its `.git` leads back; "" for others."""
    try:
        settings = parse(read_small(os.path.join(git, "config")))
    except OSError:
        return ""
    for section, name, value in settings:
        if (section, name) == ("core", "worktree"):
            tree = os.path.realpath(os.path.join(git, value))
            try:
                if _pointed(os.path.join(tree, ".git"), tree, roots, "gitdir:") == git:
                    return tree
            except InvalidArgument:
                continue
    return ""


def _settled(base: str, target: str, roots: "Sequence[str]") -> str:
    """Return where a path that a repository names leads, "" if that cannot be said for good.

    Links in /proc lead elsewhere for each process, and so do those of /dev that lead there.
    """
    path = os.path.normpath(os.path.join(base, target))
    try:
        lost = "\0" in target or inside(path, "/proc") or inside(path, "/dev")
        return "" if lost else settle(os.path.join(base, target), roots, "git")[0]
    except InvalidArgument:
        return ""


def _made(folder: str, roots: "Sequence[str]", known: "Sequence[str]") -> bool:
    """True if a repository's folder may be the work of a command."""
    return folder not in known and inside(folder, *roots) and os.path.isdir(folder)


def unprotectable(git: str, roots: "Sequence[str]") -> str:
    """Return why the next plan could not protect a repository, "" if it can."""
    try:
        named = os.path.basename(git).lower() == ".git"
        if place := locate(git, roots) if named else Places(git, git, git, git):
            guard(place, roots, commit=True, home=os.path.expanduser("~"))
    except InvalidArgument as error:
        return error.message
    return ""


def inner(git: str, *, links: bool = False) -> "Iterator[str]":
    """Return the folders of repositories inside a repository's own folder: of worktrees and of modules."""
    for name in _listed(os.path.join(git, "worktrees"), links=links):
        yield os.path.join(git, "worktrees", name)
    waiting = [os.path.join(git, "modules")]
    while waiting:
        here = waiting.pop()
        for name in _listed(here, links=links):
            path = os.path.join(here, name)
            if os.path.lexists(os.path.join(path, "HEAD")) or os.path.islink(path):
                yield path
                yield from () if os.path.islink(path) else inner(path, links=links)
            else:
                waiting.append(path)


def parts(folder: str, used: "Sequence[str] | None" = None) -> "Iterator[str]":
    """Return the parts of a repository's folder that a commit leaves alone, whether they exist or not.

    Of worktrees that are not among the `used` ones, that is all; None is all of them used.
    """
    yield from (os.path.join(folder, name) for name in FIXED)
    for path in inner(folder):
        if os.path.basename(os.path.dirname(path)) != "worktrees":
            yield from (os.path.join(path, name) for name in FIXED)
        elif used is None or path in used:
            yield from (os.path.join(path, link) for link in _LINKS)
        else:
            yield path


def _listed(folder: str, *, links: bool = False) -> list[str]:
    """Return the names of the folders in a folder, and if asked, of links to folders."""
    try:
        with os.scandir(folder) as listed:
            return sorted(entry.name for entry in listed if entry.is_dir(follow_symlinks=links))
    except OSError:
        return []


def _submodules(worktree: str) -> "Iterator[str]":
    """Return the `.git` that submodules do not have yet: one that appears is obeyed by the outer git."""
    try:
        settings = parse(read_small(os.path.join(worktree, ".gitmodules")))
    except OSError:
        return
    for section, name, value in settings:
        if section == "submodule" and name == "path" and value and "\0" not in value:
            path = os.path.normpath(os.path.join(worktree, value, ".git"))
            if below(path, (worktree,)) and os.path.realpath(path) == path and not os.path.lexists(path):
                yield path
