"""The environment inside a box: without what opens other doors, and without what loads other code."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.sandbox.profile import Profile

# In capitals: a name is compared in capitals, for programs do not agree about them (http_proxy, HTTP_PROXY).
_PARTS = ("KEY", "SECRET", "TOKEN", "PASS", "CRED")
_HEADS = tuple(
    "AWS_ AZURE_ DBUS_ GIT_ LD_ DYLD_ PYTHON GLIBC_ MALLOC_ BASH_FUNC_ DOCKER_ SSH_ GPG_ KRB5"
    " VAULT_ NPM_CONFIG_ LESSOPEN LESSCLOSE".split()
)
_WHOLE = frozenset(
    "XDG_RUNTIME_DIR KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG NETRC"
    " BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS IFS CDPATH ZDOTDIR"
    " NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB"
    " JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS"
    " GCONV_PATH LOCPATH NLSPATH HOSTALIASES RESOLV_HOST_CONF GETCONF_DIR TMPDIR TMP TEMP"
    " HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY"
    " TMUX TMUX_PANE STY DISPLAY WAYLAND_DISPLAY XAUTHORITY MAIL DATABASE_URL"
    " RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER SUDO_ASKPASS".split()
)


_PLACES = {b"TMPDIR": b"/tmp", b"XDG_CACHE_HOME": b"/tmp/.cache", b"npm_config_cache": b"/tmp/.npm"}
"""Where programs keep what they can make again: the home folder is read-only."""


def scrub(
    env: "Mapping[str, str] | Mapping[bytes, bytes]", profile: "Profile", *, backend: str = ""
) -> dict[bytes, bytes]:
    """Give the variables that go into the box, in the system's form.

    What the profile's `env` names goes in whatever it is called. TMPDIR and
    our own AGENT_EXEC_SANDBOX (the backend, or the profile's name) and
    AGENT_EXEC_NET ("off", "allow-list" or "on") are set, so that programs can
    tell why something fails.
    """
    found = {}
    for raw, value in env.items():
        name = os.fsdecode(raw)
        if name and (name in profile.env or not (withheld(name) or _signed(os.fsencode(value)))):
            found[os.fsencode(name)] = os.fsencode(value)
    found |= _PLACES
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found[b"TAR_OPTIONS"] = b"--no-same-owner"  # root alone restores owners, and has no other ids here
    found[b"AGENT_EXEC_SANDBOX"] = os.fsencode(backend or profile.name)
    found[b"AGENT_EXEC_NET"] = os.fsencode(profile.net if isinstance(profile.net, str) else "allow-list")
    return found


def withheld(name: str) -> bool:
    """Tell whether a variable of this name stays outside."""
    upper = name.upper()
    return upper in _WHOLE or upper.startswith(_HEADS) or any(part in upper for part in _PARTS)


def _signed(value: bytes) -> bool:
    """Tell whether an address carries a password: scheme://user:password@host."""
    scheme, found, rest = value.partition(b"://")
    user, at, _ = rest.partition(b"/")[0].rpartition(b"@")
    return bool(scheme and found and at and b":" in user)
