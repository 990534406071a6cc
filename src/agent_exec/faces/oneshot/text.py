"""The answers of a kit as a model reads them over a server, made from the objects of the contract."""

from agent_exec.model.jsonline import dump
from agent_exec.tools.tool import answer_text, ending, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agent_exec.faces.oneshot.secure import Answer


def text_of(tool: str, answer: "Answer") -> str:
    """Return an answer as a text; the data of a tool that joined the kit is JSON."""
    if answer["status"] != "success":
        return f"{answer['error']['code']}: {answer['message']}"
    data = answer["data"]
    if tool == "exec_command":
        ended = "timed out" if data["timed_out"] else ending(data["exit_code"])
        return answer_text(
            f"{ended}, {seconds(data['duration_ms'])}",
            data["stdout"],
            data["stderr"],
            notes=(*data.get("notes", ()), data.get("sandbox", {}).get("message", "")),
            left_out=_left_out(data),
        )
    if tool == "git_status_summary":
        return answer_text(f"repository {data['repository_root']}", data["raw"])
    return str(data["text"]) if tool == "apply_patch" else dump(data)


def _left_out(data: "dict[str, Any]") -> "Iterator[str]":
    for stream in ("stdout", "stderr"):
        if data[f"{stream}_truncated"]:
            yield f"the rest of {stream} was not kept; max_output_chars keeps more"
