"""Ways to look into an answer of the kit."""

from collections.abc import Callable
from typing import Any

from agent_exec.faces.oneshot.kit import Toolkit

Answer = dict[str, Any]
MakeKit = Callable[..., Toolkit]
ALL = {"default_policy": "allow"}


def data(answer: Answer) -> Any:
    """Return the data of a success."""
    assert answer["status"] == "success", answer
    assert set(answer) == {"status", "data"}
    return answer["data"]


def code(answer: Answer) -> str:
    """Return the code of anything but a success, whose form is checked."""
    assert set(answer) == {"status", "reason", "message", "error"}, answer
    error = answer["error"]
    assert set(error) == {"code", "message", "retriable", "details"}
    assert error["message"] == answer["message"]
    assert answer["message"]
    assert "Traceback" not in answer["message"]
    found: str = error["code"]
    reason = {"POLICY_DENIED": "policy", "SANDBOX_VIOLATION": "sandbox"}.get(found, "runtime")
    assert (answer["status"], answer["reason"]) == ("failure" if reason == "runtime" else "denied", reason)
    assert isinstance(error["retriable"], bool)
    assert found == "INTERNAL" or not error["retriable"]
    return found
