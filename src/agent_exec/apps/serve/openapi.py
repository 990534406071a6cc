"""The OpenAPI 3.1 document of the HTTP interface, made from the table of operations and our schemas."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.problems import KIND
from agent_exec.apps.web.events import KIND as EVENTS
from agent_exec.faces.routes import IN_QUERY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.apps.serve.operation import Operation

_BYTES: "dict[str, Any]" = {
    "application/octet-stream": {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
}


def document(operations: "Iterable[Operation]") -> "dict[str, Any]":
    """Return the document."""
    from agent_exec.faces.verbs import schema
    from agent_exec.version import __version__

    answers = schema()["schema"]
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "agent-exec",
            "version": __version__,
            "description": "Runs commands for AI agents. Times are seconds unless a name ends in _ms.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Answer": {
                    "type": "object",
                    "required": ["schema_version", "ok", "type"],
                    "properties": {
                        "schema_version": {"type": "string"},
                        "ok": {"type": "boolean"},
                        "type": {"type": "string"},
                    },
                    "description": "The same object that the program prints for the verb; see `VerbAnswer`.",
                },
                "VerbAnswer": _moved(answers),
                "Problem": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail", "code", "retryable"],
                    "properties": {
                        "type": {"type": "string"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string", "description": "What is wrong, and what to do next."},
                        "code": {"type": "string"},
                        "retryable": {"type": "boolean"},
                        "details": {"type": "object"},
                        "answer": {"type": "object", "description": "What is known beside the error."},
                    },
                },
            },
        },
    }


def _operation(one: "Operation") -> "dict[str, Any]":
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in one.variables
    ]
    told: dict[str, Any] = {"operationId": one.name, "summary": one.about, "parameters": parameters}
    if one.method in IN_QUERY or one.raw is not None:
        parameters += [
            {"name": name, "in": "query", "required": name in one.required, "schema": field}
            for name, field in one.fields.items()
        ]
        if one.method not in IN_QUERY:
            told["requestBody"] = {"required": True, "content": _BYTES}
    elif one.fields:
        body = {"type": "object", "properties": one.fields, "required": list(one.required)}
        told["requestBody"] = {
            "required": bool(one.required),
            "content": {"application/json": {"schema": body}},
        }
    if one.starts:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "schema": {"type": "string", "maxLength": 200},
                "description": "The same request with the same key starts nothing again, for a day.",
            }
        )
    content: dict[str, Any] = {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}
    if one.raw is not None and one.method == "GET" and not one.websocket:
        content = _BYTES
    if one.streams:
        parameters.append({"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}})
        content[EVENTS] = {"schema": {"type": "string"}}
    answer = {"200": {"description": "The answer.", "content": content}}
    told["responses"] = {
        **({"101": {"description": "A WebSocket."}} if one.websocket else answer),
        "default": {
            "description": "What is wrong.",
            "content": {KIND: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    }
    return told


def _moved(schema: "Any") -> "Any":
    """Return a schema whose definitions are found from the root of the document."""
    if isinstance(schema, list):
        return [_moved(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _moved(one) for name, one in schema.items()}
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found["$ref"] = f"#/components/schemas/VerbAnswer{reference[1:]}"
    return found
