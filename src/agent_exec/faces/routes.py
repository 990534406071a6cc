"""The method and the path of each operation over HTTP: the same for the server and for its clients."""

JOBS = "/v1/jobs"
JOB = "/v1/jobs/{job}"
GROUP = "/v1/groups/{group}"
FILES = "/v1/files"
SESSIONS = "/v1/sessions"
SESSION = "/v1/sessions/{session}"

ROUTES = {
    "run": ("POST", JOBS),
    "list": ("GET", JOBS),
    "create": ("POST", "/v1/created"),
    "status": ("GET", JOB),
    "delete": ("DELETE", JOB),
    "tail": ("GET", f"{JOB}/tail"),
    "wait": ("GET", f"{JOB}/wait"),
    "kill": ("POST", f"{JOB}/kill"),
    "start": ("POST", f"{JOB}/start"),
    "restart": ("POST", f"{JOB}/restart"),
    "timeout": ("POST", f"{JOB}/timeout"),
    "tag": ("POST", f"{JOB}/tags"),
    "ports": ("GET", f"{JOB}/ports"),
    "preview": ("POST", f"{JOB}/previews"),
    "gc": ("POST", "/v1/gc"),
    "plan": ("GET", "/v1/plan"),
    "groups": ("GET", "/v1/groups"),
    "set_group": ("PUT", GROUP),
    "remove_group": ("DELETE", GROUP),
    "events": ("GET", "/v1/events"),
    "approvals": ("GET", "/v1/approvals"),
    "show_approval": ("GET", "/v1/approvals/{approval}"),
    "answer_approval": ("POST", "/v1/approvals/{approval}"),
    "info": ("GET", "/v1/info"),
    "exec": ("POST", "/v1/exec"),
    "explain": ("POST", "/v1/policy/explain"),
    "read_file": ("GET", FILES),
    "write_file": ("PUT", FILES),
    "delete_file": ("DELETE", FILES),
    "list_files": ("GET", f"{FILES}/list"),
    "list_sessions": ("GET", SESSIONS),
    "exec_command": ("POST", SESSIONS),
    "write_stdin": ("POST", f"{SESSION}/write"),
    "read_output": ("GET", f"{SESSION}/output"),
    "terminal": ("GET", f"{SESSION}/terminal"),
    "resize": ("POST", f"{SESSION}/resize"),
    "close_stdin": ("POST", f"{SESSION}/close-stdin"),
    "detach": ("POST", f"{SESSION}/detach"),
    "kill_session": ("DELETE", SESSION),
    "tools": ("GET", "/v1/tools"),
    "call_tool": ("POST", "/v1/tools/{tool}"),
}
"""By the names of operations."""
IN_QUERY = ("GET", "DELETE")
"""The methods whose fields are in the query; those of others are in an object of JSON."""
