"""Programs that run a shell line or a command in ways of their own, which a rule has to name."""

from itertools import pairwise

from agent_exec.policy.programs.effects import NEVER, Options, Sight, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker
    from agent_exec.policy.shell.word import Word

_UNSURE = "it cannot be seen which command {} would run"


_FAR = 16
"""How far the command may be from the program that runs it."""


def opaque(words: "Sequence[Word]") -> Sight:
    """Look at programs that run what their words say in ways of their own: a rule must name all of them."""
    sight = Sight()
    sight.named += [tuple(words[at:]) for at in range(1, min(len(words), _FAR))]
    if len(words) == 1:
        return sight.require(NEVER, f"{name_of(words)} runs what it is told")
    return sight.require(len(words) - 1, f"{name_of(words)} runs what its words say")


def _locked(words: "Sequence[Word]") -> Sight:
    """Look at flock: options, a file, then a command, or a line after -c."""
    sight = Sight()
    options = Options(
        words,
        "-E --conflict-exit-code -w --wait --timeout -c --command",
        "-s --shared -x -e --exclusive -n --nb --nonblock -o --close -F --no-fork -u --unlock --verbose",
    )
    at = options.at + 1
    if options.strange is not None or options.has("-c", "--command"):
        return sight.require(NEVER, _UNSURE.format("flock"))
    if at >= len(words):
        return sight  # it locks a descriptor
    if words[at].text in ("-c", "--command"):
        line = words[at + 1].text if at + 1 < len(words) else None
        if line is None:
            return sight.require(NEVER, _UNSURE.format("flock"))
        sight.lines.append(line)
    else:
        sight.inner.append(tuple(words[at:]))
    return sight


def _after(*, option: str, operands: int = 0) -> "Looker":
    """Make the look at a program that gives a line after an option, or its last words, to a shell.

    Its options may stand anywhere, so that only a line in a known place is
    read, and a rule must name all words; `operands` is how many words that
    are no options come before a command. Without a line it opens a shell.
    """
    names = option.split()

    def look(words: "Sequence[Word]") -> Sight:
        sight = Sight()
        lines = [
            following.text
            for word, following in pairwise(words[1:])
            if word.text is not None and (word.text in names or _ends(word.text, names))
        ]
        for word in words[1:]:
            name, equals, value = (word.text or "").partition("=")
            if equals and len(name) > 2 and any(one.startswith(name) for one in names):
                lines.append(value)
        plain = [word.text for word in words[1:] if word.text is not None and word.text[:1] != "-"]
        if operands and not lines and len(plain) > operands:
            lines += [" ".join(plain[operands:]), *plain[operands:]]
        if not lines or None in lines or any(word.text is None for word in words):
            return sight.require(NEVER, "it opens a shell, or it cannot be seen what it runs")
        sight.lines += [line for line in lines if line is not None]
        return sight.require(len(words) - 1, f"{name_of(words)} runs what its words say")

    return look


def _ends(text: str, names: "Sequence[str]") -> bool:
    """Tell whether joined short options end with one of these, or a long one is cut short."""
    if text.startswith("--"):
        return len(text) > 2 and any(name.startswith(text) for name in names)
    return text[:1] == "-" and any(len(name) == 2 and text.endswith(name[1]) for name in names)


LOOKERS: "dict[str, Looker]" = {
    "flock": _locked,
    "su": _after(option="-c --command --session-command"),
    "runuser": _after(option="-c --command --session-command", operands=1),
    "sg": _after(option="-c", operands=1),
    "script": _after(option="-c --command"),
    **dict.fromkeys(
        """
    parallel ssh mosh rsh systemd-run start-stop-daemon strace ltrace gdb lldb perf valgrind
    expect unbuffer rlwrap xvfb-run dbus-run-session dbus-launch firejail bwrap proot fakeroot
    faketime entr at batch crontab cron screen tmux socat nc ncat netcat telnet run-parts runcon
    newgrp pkexec gosu su-exec setuidgid softlimit chpst daemonize daemon tini dumb-init
    s6-setuidgid with-contenv direnv nix-shell conda devbox prlimit choom cgexec capsh setarch
    linux32 linux64 i386 x86_64 uname26 numactl catchsegv ld.so rr heaptrack hyperfine nodemon
    pm2 forever supervisord dotenv chronic ifne pee setpriv nsenter logsave systemd-inhibit
    systemd-cat systemd-nspawn systemd-socket-activate machinectl gpg-agent cttyhack openvt cpulimit trickle
    sshpass torsocks torify proxychains proxychains4 tsocks autossh sshfs pdsh pssh help2man
    aa-exec nsjail minijail0 lxc-attach lxc-execute retry timelimit envdir envuidgid setlock
    pgrphack fghack tcpsvd udpsvd tcpserver runsv runsvdir svlogd multilog udhcpc dhclient inetd xinetd
    bear scan-build xterm x-terminal-emulator gnome-terminal konsole alacritty kitty foot xinit
    startx run-mailcap watchexec reflex zrun vipe vidir mispipe ansible vagrant dlv uftrace
    luit memusage msgexec msgfilter niceload sem sql nq fq tsp ts-spooler uclampset autoexpect kibitz xkibitz
    multixterm dislocate passmass expect_unbuffer expect_autoexpect expect_kibitz expect_xkibitz
    expect_multixterm expect_dislocate fstab-decode debconf debconf-apt-progress scriptlive gprofng
    gp-collect-app pg_virtualenv wine lli bugpoint jrunscript jdb env_parallel parset slogin agetty getty
    login sulogin gpg-connect-agent dpkg-buildpackage savelog pgbench fakeroot-sysv fakeroot-tcp
    sshd telnetd ifup ifdown pppd openvpn logrotate anacron procmail fetchmail jexec bpftrace stap
    """.split(),
        opaque,
    ),
}
