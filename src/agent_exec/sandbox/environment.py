"""The environment inside a box: without what opens other doors, and without what loads other code."""

import os

from agent_exec.model.secret import HARMLESS, is_secret
from agent_exec.places import PIPELINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from agent_exec.sandbox.profile import Profile

# In capitals: a name is compared in capitals, for programs do not agree about them (http_proxy, HTTP_PROXY).
_LOADER_HEADS = tuple(
    "AWS_ AZURE_ DBUS_ GIT_ LD_ DYLD_ PYTHON GLIBC_ MALLOC_ BASH_FUNC_ DOCKER_ SSH_ GPG_ KRB5 VAULT_"
    " NPM_CONFIG_ LESSOPEN LESSCLOSE".split()
)
_LOADERS = frozenset(
    "XDG_RUNTIME_DIR KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG NETRC BASH_ENV ENV"
    " PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS IFS CDPATH ZDOTDIR NODE_OPTIONS NODE_PATH PERL5OPT"
    " PERL5LIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH"
    " MAVEN_OPTS GRADLE_OPTS GCONV_PATH LOCPATH NLSPATH HOSTALIASES RESOLV_HOST_CONF GETCONF_DIR"
    " TMPDIR TMP TEMP HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY TMUX TMUX_PANE STY DISPLAY"
    " WAYLAND_DISPLAY XAUTHORITY MAIL DATABASE_URL RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER SUDO_ASKPASS".split()
)
_FINE = HARMLESS | frozenset(
    "GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME"
    " GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE"
    " PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE".split()
)
"""What only looks like a secret, or like something that loads code."""

_ALLOWED = _FINE | frozenset(
    "PATH HOME LANG LANGUAGE TERM TERMINFO TERMINFO_DIRS COLORTERM USER LOGNAME USERNAME SHELL TZ"
    " TZDIR PWD OLDPWD SHLVL CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES COLORFGBG"
    " LS_COLORS EDITOR VISUAL PAGER MANPAGER LESS LESSCHARSET MANPATH INFOPATH HOSTNAME HOSTTYPE"
    " XDG_DATA_DIRS XDG_CONFIG_DIRS DEBIAN_FRONTEND DEBUG VERBOSE VIRTUAL_ENV VIRTUAL_ENV_PROMPT"
    " MAMBA_ROOT_PREFIX MAMBA_EXE NODE_ENV NODE_VERSION COREPACK_HOME JAVA_HOME JDK_HOME MAVEN_HOME"
    " M2_HOME GRADLE_HOME GRADLE_USER_HOME KOTLIN_HOME SCALA_HOME ANDROID_HOME ANDROID_SDK_ROOT"
    " ANDROID_NDK_HOME GEM_HOME GEM_PATH BUNDLE_PATH BUN_INSTALL STACK_ROOT CABAL_DIR OPAMROOT"
    " OPAMSWITCH OPAM_SWITCH_PREFIX DOTNET_ROOT JULIA_DEPOT_PATH PNPM_HOME FLUTTER_ROOT CUDA_HOME"
    " CUDA_PATH CUDA_VISIBLE_DEVICES SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"
    " NIX_SSL_CERT_FILE NIX_PROFILES NODE_EXTRA_CA_CERTS SOURCE_DATE_EPOCH CC CXX CPP AR AS LD NM"
    " RANLIB CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS MAKEFLAGS MAKELEVEL MFLAGS LIBRARY_PATH CPATH"
    " C_INCLUDE_PATH CPLUS_INCLUDE_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR OMP_NUM_THREADS"
    " MKL_NUM_THREADS GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOTOOLCHAIN"
    " GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOOS GOARCH GO111MODULE"
    " OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS".split()
)
_ALLOWED_HEADS = tuple(
    "LC_ AGENT_EXEC_ CONDA_ PYENV_ NVM_ RUSTUP_ CARGO_ RUST GOENV_ CGO_ SDKMAN_ ASDF_ MISE_ RBENV_"
    " NODENV_ JENV_ VOLTA_ FNM_ DENO_ HOMEBREW_ CMAKE_ CCACHE_ SCCACHE_ PIP_ UV_ POETRY_ PYTEST_ TOX_"
    " NOX_ JUPYTER_ RAYON_ GHCUP_ TURBO_ YARN_".split()
)
"""Heads of names that toolchains live by; what looks like a secret among them stays outside."""

_PLACES = {b"TMPDIR": b"/tmp", b"XDG_CACHE_HOME": b"/tmp/.cache", b"npm_config_cache": b"/tmp/.npm"}
"""Where programs keep what they can make again: the home folder is read-only."""

_inherited: "list[Mapping[str, str]]" = []


def inherit(env: "Mapping[str, str]") -> None:
    """Treat these variables as inherited, like those of this process: they were not set for a command."""
    _inherited[:] = [*_inherited[-7:], dict(env)]


def scrub(
    env: "Mapping[str, str] | Mapping[bytes, bytes]",
    profile: "Profile",
    *,
    backend: str = "",
    given: "Collection[str]" = (),
    before: "tuple[Mapping[Any, Any], Mapping[bytes, bytes]] | None" = None,
) -> dict[bytes, bytes]:
    """Return the variables that go into the box, in the system's form.

    What the profile's `env` names goes in whatever it is called. What is as
    in this process was inherited: of that goes in what is on the list of
    harmless names, or with `secrets="deny-list"` what does not look like a
    secret. What is not, and what is named by `given`, was set for the
    command: it goes in unless it looks like a secret, or loads code. TMPDIR
    and our own AGENT_EXEC_SANDBOX (the backend, or the profile's name) and
    AGENT_EXEC_NET ("off", "allow-list" or "on") are set, so that programs can
    tell why something fails. With `before`, earlier variables and what came
    of them, only those are judged that have changed since.
    """
    found: dict[bytes, bytes] = {}
    judged: Mapping[Any, Any] = env
    if before is not None and not given and before[0].keys() == env.keys():
        found, judged = dict(before[1]), dict(env.items() - before[0].items())
    listed = profile.secrets == "allow-list"
    ours = getattr(os, "environb", {})
    for raw, value in judged.items():
        name = os.fsdecode(raw)
        if not name:
            continue
        key, data = os.fsencode(name), os.fsencode(value)
        passes = name in profile.env
        if not passes and not withheld(name, os.fsdecode(data)):
            passes = not listed or harmless(name) or name in given or not _is_inherited(name, data, ours)
        found.pop(key, None)
        if passes:
            found[key] = data
    found |= _PLACES
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found[b"TAR_OPTIONS"] = b"--no-same-owner"  # root alone restores owners, and has no other ids here
    found[b"AGENT_EXEC_SANDBOX"] = os.fsencode(backend or profile.name)
    found[b"AGENT_EXEC_NET"] = os.fsencode(profile.net if isinstance(profile.net, str) else "allow-list")
    return found


def withheld(name: str, value: str = "") -> bool:
    """True if a variable is withheld even if the caller sets it: it looks like a secret, or loads code."""
    upper = name.upper()
    if upper in _FINE or (name == "BASH_ENV" and value == PIPELINE):
        return False
    return upper in _LOADERS or upper.startswith(_LOADER_HEADS) or is_secret(name, value)


def harmless(name: str) -> bool:
    """True if a variable is on the list of those that programs and toolchains live by."""
    upper = name.upper()
    return upper in _ALLOWED or upper.startswith(_ALLOWED_HEADS)


def _is_inherited(name: str, value: bytes, ours: "Mapping[bytes, bytes]") -> bool:
    if ours.get(os.fsencode(name)) == value:
        return True
    return any(name in one and os.fsencode(one[name]) == value for one in _inherited)
