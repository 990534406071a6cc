"""The entry of the `agent-exec` command; its verbs arrive with durable jobs."""

import sys

from agent_exec.version import __version__

USAGE = """\
usage: agent-exec [--help] [--version]

Runs commands for AI agents. This release is a Python library:

    import agent_exec
    print(agent_exec.run(["echo", "hello"]).stdout_text)
"""


def main() -> int:
    """Serve the arguments of this process; give its exit status."""
    match sys.argv[1:]:
        case ["--version"]:
            sys.stdout.write(f"agent-exec {__version__}\n")
            return 0
        case ["--help"] | ["-h"]:
            sys.stdout.write(USAGE)
            return 0
        case words:
            what = f"unknown argument {words[0]!r}" if words else "an argument is required"
            sys.stderr.write(f"agent-exec: {what}\n{USAGE}")
            return 2


if __name__ == "__main__":
    sys.exit(main())
