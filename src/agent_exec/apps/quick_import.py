"""Imports the modules of this package by fewer calls of the system: a call of the program needs twenty."""

import os
import sys
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import NoReturn
else:
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

_PACKAGE = "agent_exec."
_SUFFIX = f".{sys.implementation.cache_tag}.pyc"
_HEADER = 16
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_LARGEST = 1 << 16


class _Loader(SourceFileLoader):
    """Loads a module from its cached code, if that was made from the source as it is; else as Python does."""

    source: os.stat_result

    def get_code(self, fullname: str) -> "CodeType | None":
        """Return the code of the module."""
        folder, _, name = self.path.rpartition("/")
        try:
            fd = os.open(f"{folder}/__pycache__/{name[:-3]}{_SUFFIX}", os.O_RDONLY | _CLOEXEC)
            try:
                data = os.read(fd, _LARGEST)
            finally:
                os.close(fd)
        except OSError:
            return super().get_code(fullname)
        made_from = (int(self.source.st_mtime) & 0xFFFFFFFF) | (self.source.st_size & 0xFFFFFFFF) << 32
        # The zeros say that this code is checked by the time and the size of its source.
        if (
            data[:_HEADER] != MAGIC_NUMBER + bytes(4) + made_from.to_bytes(8, "little")
            or len(data) == _LARGEST
        ):
            return super().get_code(fullname)
        code: CodeType = loads(memoryview(data)[_HEADER:])
        return code


class _Finder:
    """Finds a module of this package in the folder of its parent, without listing that."""

    @staticmethod
    def find_spec(
        fullname: str, path: "Sequence[str] | None" = None, _target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return how the module is loaded; None if it is not ours, or not where it should be."""
        if path is None or not fullname.startswith(_PACKAGE):
            return None
        place = f"{path[0]}/{fullname.rpartition('.')[2]}"
        for file, inside in ((f"{place}.py", None), (f"{place}/__init__.py", [place])):
            try:
                source = os.stat(file)
            except OSError:
                continue
            loader = _Loader(fullname, file)
            loader.source = source
            spec = ModuleSpec(fullname, loader, origin=file)
            spec.submodule_search_locations = inside
            spec.has_location = True
            return spec
        return None


def install() -> None:
    """Have the modules of this package found and loaded so, where Python does it in the usual way."""
    usual = not sys.flags.optimize and sys.pycache_prefix is None and sys.implementation.cache_tag
    if os.name == "posix" and usual and type(__spec__.loader) is SourceFileLoader:
        sys.meta_path.insert(0, _Finder)


def program() -> "NoReturn":
    """Be the program `agent-exec`, with its own modules imported in this way."""
    install()
    from agent_exec.apps.main import program

    program()
