"""The canary itself: it is heard when it is run, and not when it is not."""

from pathlib import Path

from policy.canary import judge, sings


def test_the_canary_is_detected(tmp_path: Path) -> None:
    assert sings(tmp_path / "a", "true; canary")
    assert sings(tmp_path / "b", ["canary"])
    assert not sings(tmp_path / "c", "echo canary")


def test_the_broadest_policy_allows_all_but_the_canary() -> None:
    assert judge("ls -l | sort > /tmp/x").kind == "allow"
    assert judge("canary").kind == "deny"
