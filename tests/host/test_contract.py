"""The host of this system keeps what every host promises."""

from pathlib import Path

import pytest

from host.contract_checks import CHECKS, Skip


@pytest.mark.parametrize("name", CHECKS)
def test_promise(name: str, tmp_path: Path) -> None:
    try:
        CHECKS[name](tmp_path)
    except Skip as reason:
        pytest.skip(str(reason))
