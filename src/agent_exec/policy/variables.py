"""Names of variables that change what a program does, or that the shell reads again as code."""

import re

_NAMES = frozenset(
    """
    BROWSER CC CDPATH COLUMNS_CMD CPP CXX DIRSTACK EDITOR ENV EXECIGNORE EXINIT FIGNORE FPATH
    FUNCNAME GLOBIGNORE GREP_OPTIONS HISTCMD HISTFILE HOME HOSTALIASES IFS INPUTRC LD LINENO
    LOCPATH NLSPATH OPTARG OPTIND PAGER POSIXLY_CORRECT PPID PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4
    RANDOM SECONDS SHELL SHELLOPTS SRANDOM TERMCAP TERMINFO TERMINFO_DIRS TMPDIR TMPPREFIX
    VISUAL ZDOTDIR UID EUID GCONV_PATH WGETRC KUBECONFIG BASHOPTS _ ZIPOPT UNZIP YACC LEX M4 AR AS
    FC F77 F90 AUTOM4TE HGMERGE GNUPGHOME VIM VIMRUNTIME FCEDIT PARALLEL TEXINPUTS MAILCAP MAILCAPS
    PYTEST_PLUGINS GTK_MODULES path fpath cdpath module_path
    """.split()
)
_STARTS = tuple(
    """
    AWK BASH_ CARGO_ COMP_ DBUS_ DOCKER_ DYLD_ GIT_ GLIBC_ GO JAVA_ LD_ LESS MAKE MALLOC_ MAN
    NODE_ NPM_ PERL PIP_ PYTHON RUBY RUST UV_ XDG_ _JAVA npm_ JDK_ TAR_ RSYNC_ SSH_ SUDO_ CURL_
    OPENSSL_ SSL_ GCC_ NIX_ CMAKE_ LUA_ DENO_ HARNESS_ GEM_ BUNDLE_ PHP_ R_ PYENV_ RBENV_ YARN_ PNPM_
    AWS_ COVERAGE_ TEXMF
    """.split()
)
_ENDS = tuple(
    """
    PATH CMD COMMAND COMMANDS OPTS OPTIONS FLAGS EDITOR PAGER SHELL RSH SSH ASKPASS WRAPPER
    CONFIG RC INIT HOOK PRELOAD PROXY proxy PROGRAM
    """.split()
)
_HARMLESS = frozenset(
    """
    CI DEBUG VERBOSE V Q QUIET TERM COLORTERM LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR
    CLICOLOR_FORCE COLUMNS LINES LOG_LEVEL LOGLEVEL NODE_ENV PORT HOST RUST_BACKTRACE RUST_LOG
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED SOURCE_DATE_EPOCH JOBS PARALLEL_LEVEL
    RELEASE BUILD_TYPE RAILS_ENV RACK_ENV APP_ENV MIX_ENV
    """.split()
)
"""Variables that say how much is shown, or how, or for what: with a plain value they run nothing."""
DECLARING = re.compile(r"[-+][aAgprxfFlutv]+|--", re.ASCII)
"""Options of the commands that declare variables."""
_PLAIN_VALUE = re.compile(r"[\w.,:/+@%-]*", re.ASCII)


def dangerous(name: str) -> bool:
    """True if setting this variable may change what a command does."""
    if name in _HARMLESS:
        return False
    return name in _NAMES or name.startswith(_STARTS) or name.endswith(_ENDS) or not _plain(name)


def harmless(name: str, value: str | None = "") -> bool:
    """True if a program that runs what variables say runs nothing for this one; None is any value."""
    if name not in _HARMLESS and not name.startswith("LC_"):
        return False
    return value is not None and _PLAIN_VALUE.fullmatch(value.strip("'\"")) is not None


def reaches(name: str, value: str | None, *, exported: bool) -> bool:
    """True if a variable may be given to programs, and may be one that they run.

    One that is not exported here may be so already, as those are whose names
    have no small letters.
    """
    return (exported or name == name.upper()) and not harmless(name, value)


def identifier(text: str | None) -> bool:
    """True if this is a plain name of a variable, without a subscript."""
    return text is not None and _plain(text)


def _plain(text: str) -> bool:
    return text.isascii() and text.isidentifier()
