"""`python -m agent_exec` is the `agent-exec` program."""

import sys

from agent_exec.apps.cli.main import main

sys.exit(main())
