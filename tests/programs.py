"""The programs without which some tests are skipped or have fewer cases, and how to install each."""

import os
import shutil
from collections.abc import Callable

APT = {  # program: the Debian package that has it
    "bash": "bash",
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "curl": "curl",
    "dash": "dash",
    "gcc": "gcc",
    "git": "git",
    "go": "golang-go",
    "ipcmk": "util-linux",
    "java": "default-jdk-headless",
    "less": "less",
    "make": "make",
    "nano": "nano",
    "node": "nodejs",
    "npm": "npm",
    "nsenter": "util-linux",
    "ps": "procps",
    "python3": "python3",
    "rsync": "rsync",
    "script": "bsdutils",
    "setpriv": "util-linux",
    "sleep": "coreutils",
    "tar": "tar",
    "tmux": "tmux",
    "top": "procps",
    "unshare": "util-linux",
    "vim": "vim",
    "zsh": "zsh",
}
OTHER = {  # program: the command or page that installs it
    "mcp-inspector": "npm install -g @modelcontextprotocol/inspector",
    "pwsh": "PowerShell's own package",
}
ALIASES = {"chromium": ("chromium-browser", "google-chrome")}


def install_hint(which: Callable[[str], str | None] = shutil.which) -> str:
    """Return one line that names the missing programs and how to install them; empty if none is missing."""

    def missing(program: str) -> bool:
        if program == "mcp-inspector" and os.environ.get("MCP_INSPECTOR"):
            return False
        return not any(map(which, (program, *ALIASES.get(program, ()))))

    programs = [program for program in (*APT, *OTHER) if missing(program)]
    if not programs:
        return ""
    packages = sorted({APT[program] for program in programs if program in APT})
    ways = [f"apt install {' '.join(packages)}"] if packages else []
    ways += [OTHER[program] for program in programs if program in OTHER]
    return f"not installed, so fewer tests ran: {', '.join(programs)}. To install: {'; '.join(ways)}"
