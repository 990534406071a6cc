"""Which shell reads a command, and its argv."""

from collections.abc import Callable

import pytest

from agent_exec.requests.shells import (
    UTF8_PREFIX,
    Shell,
    argv,
    find,
    find_shell,
    kind_of,
    passwd_shell,
)


def among(*files: str) -> Callable[[str], bool]:
    return lambda path: path in files


def on_path(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/opt/{name}" if name in names else None


@pytest.mark.parametrize(
    ("platform", "passwd", "files", "path", "shell"),
    [
        ("linux", "/bin/zsh", ["/bin/zsh"], ["bash"], Shell("zsh", "/bin/zsh")),
        ("linux", "/usr/bin/bash", ["/usr/bin/bash"], [], Shell("bash", "/usr/bin/bash")),
        ("linux", "/bin/sh", ["/bin/sh"], ["bash"], Shell("sh", "/bin/sh")),
        ("linux", "/bin/zsh", [], ["bash", "zsh"], Shell("bash", "/opt/bash")),
        ("linux", "/usr/bin/fish", ["/usr/bin/fish"], ["bash"], Shell("bash", "/opt/bash")),
        ("linux", "/usr/sbin/nologin", ["/usr/sbin/nologin"], ["zsh"], Shell("zsh", "/opt/zsh")),
        ("linux", "bash", ["bash"], ["zsh"], Shell("zsh", "/opt/zsh")),
        ("linux", None, ["/bin/bash"], [], Shell("bash", "/bin/bash")),
        ("linux", None, ["/usr/bin/zsh"], [], Shell("zsh", "/usr/bin/zsh")),
        ("linux", None, [], [], Shell("sh", "/bin/sh")),
        ("linux", "", [], ["pwsh"], Shell("sh", "/bin/sh")),
        ("linux", "/opt/pwsh", ["/opt/pwsh"], [], Shell("powershell", "/opt/pwsh")),
        ("darwin", None, [], ["bash", "zsh"], Shell("zsh", "/opt/zsh")),
        ("darwin", "/bin/csh", ["/bin/csh"], ["bash"], Shell("bash", "/opt/bash")),
        ("darwin", None, [], [], Shell("sh", "/bin/sh")),
        ("win32", None, [], ["pwsh", "powershell"], Shell("powershell", "/opt/pwsh")),
        ("win32", None, [], ["powershell", "bash"], Shell("powershell", "/opt/powershell")),
        ("win32", "/bin/bash", ["/bin/bash"], [], Shell("cmd", "cmd.exe")),
    ],
)
def test_the_users_shell(
    platform: str, passwd: str | None, files: list[str], path: list[str], shell: Shell
) -> None:
    """Reference §1.4: passwd entry, else the usual ones of the platform, finally /bin/sh or cmd.exe."""
    assert find_shell(None, platform, lambda: passwd, among(*files), on_path(*path)) == shell


@pytest.mark.parametrize(
    ("word", "platform", "shell"),
    [
        ("bash", "linux", Shell("bash", "/opt/bash")),
        ("/tmp/evil/bash", "linux", Shell("bash", "/opt/bash")),
        ("./bash", "linux", Shell("bash", "/opt/bash")),
        ("bash.exe", "linux", Shell("bash", "/opt/bash")),
        ("zsh", "linux", Shell("zsh", "/own/zsh")),
        ("/bin/zsh", "linux", Shell("zsh", "/own/zsh")),
        ("sh", "linux", Shell("sh", "/bin/sh")),
        ("pwsh", "linux", Shell("powershell", "/opt/pwsh")),
        ("powershell", "linux", Shell("powershell", "/opt/pwsh")),
        ("fish", "linux", Shell("sh", "/bin/sh")),
        ("bash -x", "linux", Shell("sh", "/bin/sh")),
        ("BASH", "linux", Shell("sh", "/bin/sh")),
        (".bash", "linux", Shell("sh", "/bin/sh")),
        ("", "linux", Shell("sh", "/bin/sh")),
        ("cmd", "linux", Shell("sh", "/bin/sh")),
        ("bash", "win32", Shell("bash", "/opt/bash")),
        (r"C:\Windows\System32\cmd.exe", "win32", Shell("cmd", "/opt/cmd")),
        (r"C:\x\PowerShell.EXE", "win32", Shell("powershell", "/opt/pwsh")),
        ("fish", "win32", Shell("cmd", "cmd.exe")),
    ],
)
def test_a_named_shell(word: str, platform: str, shell: Shell) -> None:
    """Reference §1.1: only the type is picked; the binary is found here; unknown is /bin/sh or cmd.exe."""
    exists, which = among("/own/zsh", "/bin/sh", "/tmp/evil/bash"), on_path("bash", "pwsh", "cmd")
    assert find_shell(word, platform, lambda: "/own/zsh", exists, which) == shell


def test_a_named_shell_that_is_nowhere() -> None:
    """Reference §1.1."""
    assert find_shell("zsh", "linux", lambda: None, among(), on_path()) == Shell("sh", "/bin/sh")


@pytest.mark.parametrize(
    ("shell", "login", "words"),
    [
        (Shell("bash", "/bin/bash"), True, ["/bin/bash", "-lc", "a  b"]),
        (Shell("bash", "/bin/bash"), False, ["/bin/bash", "-c", "a  b"]),
        (Shell("zsh", "/bin/zsh"), True, ["/bin/zsh", "-lc", "a  b"]),
        (Shell("sh", "/bin/sh"), False, ["/bin/sh", "-c", "a  b"]),
        (Shell("powershell", "pwsh"), True, ["pwsh", "-Command", UTF8_PREFIX + "a  b"]),
        (Shell("powershell", "pwsh"), False, ["pwsh", "-NoProfile", "-Command", UTF8_PREFIX + "a  b"]),
        (Shell("cmd", "cmd.exe"), True, ["cmd.exe", "/c", "a  b"]),
        (Shell("cmd", "cmd.exe"), False, ["cmd.exe", "/c", "a  b"]),
    ],
)
def test_the_words(shell: Shell, login: bool, words: list[str]) -> None:
    """Reference §1.4; seed §3.1."""
    assert argv(shell, "a  b", login) == words


def test_the_prefix_is_not_given_twice() -> None:
    """Reference §1.4: PowerShell scripts get a UTF-8 output-encoding prefix."""
    once = argv(Shell("powershell", "pwsh"), "ls", True)[-1]
    assert argv(Shell("powershell", "pwsh"), once, True)[-1] == once


def test_this_machine_has_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference §1.4: there is always one."""
    assert passwd_shell() is None or isinstance(passwd_shell(), str)
    assert kind_of(find_shell().path) == find_shell().kind
    assert find_shell("sh").kind == "sh"
    monkeypatch.setenv("PATH", ".::bin:/nowhere:/bin:/usr/bin")
    assert find("sh") == "/bin/sh"
    assert find("no-such-program") is None
