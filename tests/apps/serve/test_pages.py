"""The dashboard's files: built from the sources that are here, served to all, and to no other origin."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from apps.serve.serving import served
from cli import Cli

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
PAGE = ROOT / "src" / "agent_exec" / "apps" / "serve" / "page"
BUILT = json.loads((PAGE / "built.json").read_text())
REBUILD = "build the dashboard again: (cd web && npm ci && npm run build)"
KINDS = {
    "/": ("text/html", "index.html"),
    "/assets/app.js": ("text/javascript", "app.js"),
    "/assets/app.css": ("text/css", "app.css"),
    "/assets/licenses.md": ("text/plain", "licenses.md"),
}


def digest(folder: Path, names: list[str]) -> str:
    """Return what `web/build.mjs` calls the digest of files."""
    found = hashlib.sha256()
    for name in names:
        data = (folder / name).read_bytes()
        found.update(f"{name}\0{len(data)}\0".encode() + data)
    return found.hexdigest()


def sources() -> list[str]:
    inside = (path for path in (WEB / "src").rglob("*") if path.is_file())
    named = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    return sorted([*named, *(path.relative_to(WEB).as_posix() for path in inside)])


def test_the_files_are_built_from_the_sources() -> None:
    assert BUILT["sources"] == digest(WEB, sources()), REBUILD
    assert BUILT["files"] == digest(PAGE, ["app.css", "app.js", "index.html", "licenses.md"]), REBUILD
    assert {path.name for path in PAGE.iterdir()} == {
        "app.css",
        "app.js",
        "built.json",
        "index.html",
        "licenses.md",
    }


def test_versions_are_locked_and_no_registry_is_named() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    for name, part in lock["packages"].items():
        assert "resolved" not in part, f"{name}: npm config set omit-lockfile-registry-resolved true"
        assert not name or part["integrity"].startswith("sha512-"), name
    given = json.loads((WEB / "package.json").read_text())
    for name, version in {**given["dependencies"], **given["devDependencies"]}.items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


def test_every_bundled_part_has_its_licence_and_a_reason() -> None:
    given = json.loads((WEB / "package.json").read_text())
    licences = (PAGE / "licenses.md").read_text()
    reasons = (ROOT / "CONTRIBUTING.md").read_text()
    assert BUILT["parts"] == given["dependencies"]
    for name, version in given["dependencies"].items():
        assert f"## {name} {version} (MIT)" in licences
    assert licences.count("Permission is hereby granted, free of charge") == len(given["dependencies"])
    for name in {**given["dependencies"], **given["devDependencies"]}:
        assert f"`{name}`" in reasons, name


def test_sources_write_text_and_never_markup() -> None:
    ways = re.compile(r"(inner|outer|Adjacent|SetInner)HTML|document\.write|\beval\(|new Function|//cdn")
    for name in sources():
        if name.endswith((".ts", ".tsx")):
            found = ways.search((WEB / name).read_text())
            assert found is None, f"{name}: {found}; use textContent"
    page = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]* src=\"/assets/)|\son\w+=|<style", page)
    assert not re.search(r"(?:src|href)=\"(?!/assets/|data:)", page)


def test_pages_are_served_without_a_token_as_they_are(cli: Cli) -> None:
    with served(cli) as server:
        for path, (kind, name) in KINDS.items():
            connection = server.connection()
            answer = server.send(connection, "GET", path, headers={"authorization": None})
            assert (answer.status, answer.getheader("content-type")) == (200, f"{kind}; charset=utf-8")
            assert answer.read() == (PAGE / name).read_bytes()
            assert answer.getheader("x-content-type-options") == "nosniff"
            policy = str(answer.getheader("content-security-policy"))
            assert policy.startswith("default-src 'none'; script-src 'self';")
            assert "frame-ancestors 'none'" in policy
            tag = answer.getheader("etag")
            connection.close()
            connection = server.connection()
            again = server.send(connection, "GET", path, headers={"if-none-match": tag})
            assert (again.status, again.read()) == (304, b"")
            connection.close()
            connection = server.connection()
            packed = server.send(connection, "GET", path, headers={"accept-encoding": "gzip, br"})
            assert gzip.decompress(packed.read()) == (PAGE / name).read_bytes()
            assert packed.getheader("etag") != tag
            connection.close()
        # No path leads to another file, no other origin or name gets one, and the interface needs its token.
        for path in (
            "/assets/",
            "/assets/built.json",
            "/assets/../pages.py",
            "/assets/%2e%2e/pages.py",
            "/index.html",
        ):
            assert server("GET", path, headers={"authorization": None}).status == 401, path
        assert server("GET", "/", headers={"host": "example.com"}).status == 403
        assert server("GET", "/", headers={"origin": "http://example.com"}).status == 403
        assert server("POST", "/", headers={"authorization": None}).status == 401
        assert server("GET", "/v1/info", headers={"authorization": None}).status == 401
