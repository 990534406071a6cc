"""Others that start background jobs, where they are installed: task-spooler, nq, and a shell."""

import os
import shlex
import shutil
import subprocess
from types import TracebackType
from typing import Self

from bench.commands import Call

TSP, NQ, SHELL = "task-spooler (its server runs already)", "nq", "sh: nohup setsid … &"


class Peers:
    """What they need in a folder of their own: sockets, logs, and at the end nobody left."""

    def __init__(self, folder: str) -> None:
        self._tsp = shutil.which("tsp")
        self._nq = shutil.which("nq")
        self._setsid = shutil.which("setsid") and shutil.which("nohup")
        self._log = shlex.quote(os.path.join(folder, "nohup.out"))
        self.env = {
            "TS_SOCKET": os.path.join(folder, "tsp"),
            "TMPDIR": folder,
            "NQDIR": folder,
            "TS_SAVELIST": os.devnull,
        }
        self._tidy = f"rm -f {shlex.quote(folder)}/,* {shlex.quote(folder)}/ts-out.*"
        self._spooler()  # whose first call starts the server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spooler("-K")

    def starting(self) -> dict[str, Call | None]:
        """Return the calls that start `true` in the background, and print its name."""
        line = f"nohup setsid true > {self._log} 2>&1 < /dev/null & echo $!"
        return {
            TSP: self._call([self._tsp, "true"], f"tsp -C; {self._tidy}"),
            NQ: self._call([self._nq, "true"], self._tidy),
            SHELL: self._call([self._setsid and "/bin/sh", "-c", line]),
        }

    def finishing(self) -> dict[str, Call | None]:
        """Return the calls that start it, and wait for its end."""
        line = f"nohup setsid true > {self._log} 2>&1 < /dev/null & wait $!; echo $?"
        waiting = 'job=$({0} true); {0} -w "$job"; echo $?'
        return {
            TSP: self._call([self._tsp and "/bin/sh", "-c", waiting.format("tsp")], f"tsp -C; {self._tidy}"),
            NQ: self._call([self._nq and "/bin/sh", "-c", waiting.format("nq")], self._tidy),
            SHELL: self._call([self._setsid and "/bin/sh", "-c", line]),
        }

    def _call(self, argv: list[str | None], tidy: str = "") -> Call | None:
        words = [word for word in argv if word is not None]
        return Call(words, expect="\n", until="answer", tidy=tidy) if len(words) == len(argv) else None

    def _spooler(self, *words: str) -> None:
        if self._tsp:
            subprocess.run(
                [self._tsp, *words],
                env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
            )
