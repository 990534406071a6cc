"""Names of variables that change what a program does, or that the shell reads again as code."""

_NAMES = frozenset(
    """
    BROWSER CC CDPATH COLUMNS_CMD CPP CXX DIRSTACK EDITOR ENV EXECIGNORE EXINIT FIGNORE FPATH
    FUNCNAME GLOBIGNORE GREP_OPTIONS HISTCMD HISTFILE HOME HOSTALIASES IFS INPUTRC LD LINENO
    LOCPATH NLSPATH OPTARG OPTIND PAGER POSIXLY_CORRECT PPID PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4
    RANDOM SECONDS SHELL SHELLOPTS SRANDOM TERMCAP TERMINFO TERMINFO_DIRS TMPDIR TMPPREFIX
    VISUAL ZDOTDIR UID EUID GCONV_PATH WGETRC KUBECONFIG BASHOPTS _ ZIPOPT UNZIP YACC LEX M4 AR AS
    FC F77 F90 AUTOM4TE HGMERGE GNUPGHOME VIM VIMRUNTIME FCEDIT PARALLEL TEXINPUTS MAILCAP MAILCAPS
    PYTEST_PLUGINS GTK_MODULES
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


def dangerous(name: str) -> bool:
    """Tell whether setting this variable may change what a command does."""
    return name in _NAMES or name.startswith(_STARTS) or name.endswith(_ENDS) or not _plain(name)


def identifier(text: str | None) -> bool:
    """Tell whether this is a plain name of a variable, without a subscript."""
    return text is not None and _plain(text)


def _plain(text: str) -> bool:
    return text.isascii() and text.isidentifier()
