"""The house keeps its own rules: rooms, doors, sizes, documents."""

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import agent_exec
import programs
from agent_exec import version

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "agent_exec"
MODULES = sorted(SOURCE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENGINE_USES = {
    "FileLock": {"acquire", "held", "path", "release"},
    "Poller": {"add", "change", "close", "remove", "wait", "wake"},
    "Process": {
        "abandon",
        "end_input",
        "kill",
        "leave",
        "resize",
        "signal",
        "spawn",
        "takes_now",
        "terminate",
        "write",
    },
    "Spawner": {"close", "process"},
}
OPENERS = {  # who opens files, and why no path of a model, a client or a command gets there
    "apps/main.py": "the null device",
    "apps/quick_import.py": "the cached code of this package",
    "apps/cli/skills.py": "a file of this package, and the skill of ours that it was written to",
    "places.py": "a path that one of the others here has passed: files of ours, rules, configurations",
    "apps/serve/pages.py": "files of this package",
    "apps/serve/keys.py": "names of ours, in a folder of ours",
    "apps/web/token_file.py": "the operator's option",
    "apps/mcp/install/config_file.py": "the configuration of a client, which the user has us write",
    "apps/mcp/transport/stdio_fds.py": "the null device",
    "requests/inbox_folder.py": "names of ours, in a folder of ours",
    "requests/rulefile.py": "the operator's rules",
    "faces/jobtools/definitions.py": "a file of this package",
    "faces/slash/history.py": "the user's own history",
    "faces/slash/permission.py": "the user's own settings",
    "faces/verbs.py": "a file of this package",
    "host/": "locks, pipes and /proc: names of ours, in folders of ours and of the kernel",
    "jobs/events/__init__.py": "names of ours, in the folder of jobs",
    "jobs/events/outbox.py": "names of ours, in the folder of jobs",
    "jobs/events/sinks.py": "the operator's option: a file that is appended to, and no link",
    "jobs/duties/merged_log.py": "the user's option",
    "jobs/stdin.py": "a file without a name, in the folder of jobs",
    "jobs/store.py": "names of ours, in the folder of jobs",
    "logs/stream.py": "names of ours, in the folder of jobs",
    "logs/folders.py": "the one way",
    "sessions/sharing/place.py": "the folder of the sockets of servers, which is ours",
    "sandbox/linux/": "inside of a box that is being made, and /proc",
    "sandbox/report/changes.py": "folders below a root, part by part and without links, of what is renamed there",
    "sandbox/plan/paths.py": "files of git, which are only looked at",
    "sandbox/plan/plan.py": "who a root is",
    "sandbox/plan/survey.py": "names below a root, which are only looked at",
}
HOMES = ("home", "Users")
PERSONS = {b"ann", b"linuxbrew", b"me", b"you"}  # whose home folders examples may name
HEAVY = {
    "asyncio",
    "subprocess",
    "typing",
    "dataclasses",
    "enum",
    "re",
    "logging",
    "json",
    "argparse",
    "pathlib",
}


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def python_files(folder: str) -> list[Path]:
    """Return the Python files of a folder, or those right in the project's own."""
    return list((ROOT / folder).glob("*.py" if folder == "." else "**/*.py"))


def test_imports_point_down_only() -> None:
    lint = "from importlinter.cli import lint_imports_command as lint; lint()"
    out = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout + out.stderr


UNPLANNED = {  # what a module holds, and what the report says of it
    "utils.py": ("", "agent_exec.utils"),
    "apps/utils.py": ("", "agent_exec.apps.utils"),
    "faces/oneshot/more.py": (
        "faces.session import definitions",
        "faces.oneshot.more -> agent_exec.faces.session",
    ),
    "apps/mcp/more.py": ("apps.cli import act", "apps.mcp.more -> agent_exec.apps.cli.act"),
    "apps/cli/more.py": ("apps.mcp import main", "apps.cli.more -> agent_exec.apps.mcp.main"),
    "engine/more.py": (" import run", "engine.more -> agent_exec"),
}
CONTRACTS = (
    "every room is named",
    "faces are strangers to each other",
    "apps are strangers to each other",
    "nothing inside imports the front door",
)


def test_what_breaks_a_contract_is_seen(tmp_path: Path) -> None:
    """Prove the contracts on a copy of the house with some modules too many."""
    import shutil

    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, (imported, _) in UNPLANNED.items():
        line = f"from agent_exec{'.' * (imported[:1] != ' ')}{imported}" if imported else ""
        (tmp_path / "src" / "agent_exec" / file).write_text(f'"""A module that was not planned."""\n{line}\n')
    lint = (
        "import sys; sys.path.insert(0, 'src'); "
        "from importlinter.cli import lint_imports_command as lint; lint()"
    )
    out = subprocess.run(
        [sys.executable, "-c", lint], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert out.returncode != 0
    for contract in CONTRACTS:
        assert re.search(f"{contract}.* BROKEN|{contract}\n", out.stdout), out.stdout
    for file, (_, said) in UNPLANNED.items():
        assert said in out.stdout, f"{file}: {out.stdout}"


def test_both_hosts_export_the_same_names() -> None:
    host = importlib.import_module("agent_exec.host")
    posix = importlib.import_module("agent_exec.host.posix")
    windows = importlib.import_module("agent_exec.host.windows")
    assert sorted(posix._HOMES) == sorted(windows._HOMES) == host.__all__
    for name, methods in ENGINE_USES.items():
        for side in (posix, windows):
            assert methods <= set(dir(getattr(side, name))), (name, side)


def test_a_callers_path_is_opened_in_one_place() -> None:
    """Resolved, then opened again by its name, a path may lead elsewhere: see `logs/folders.py`."""
    found = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Call) and is_opener(node.func)
    }
    strangers = {name for name in found if not any(name.startswith(known) for known in OPENERS)}
    assert not strangers, "open files of callers with logs/folders.py, or give a reason in OPENERS"
    assert all(any(name.startswith(known) for name in found) for known in OPENERS)


def test_folders_of_ours_are_made_in_one_place() -> None:
    """`os.makedirs` leaves the folders above to the caller's umask."""
    for module in MODULES:
        calls = (node.func for node in ast.walk(parsed(module)) if isinstance(node, ast.Call))
        assert "makedirs" not in map(called_name, calls), f"{module}: use places.make_folder"


def test_files_are_replaced_whole_in_one_place() -> None:
    """Elsewhere, only names are moved: `places.write_file` syncs, keeps the owner, and cleans up."""
    movers = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        if re.search(r"os\.(replace|rename|link)\(|\.new\"", module.read_text())
    }
    assert movers == {
        "host/posix/detached.py",  # a named pipe, in place of that of a former owner
        "jobs/store.py",  # buries a folder
        "logs/folders.py",  # below a folder that is held open, for patches
        "logs/writing.py",  # turns over an index of its own
        "places.py",
        "sandbox/report/changes.py",  # moves a folder aside, below one that is held open
        "sessions/sharing/place.py",  # a socket, once it listens
    }


def test_gates_are_opened_in_one_place() -> None:
    """So every door obeys the same rules and the same approval policy."""
    openers = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        if "requests.gate import" in module.read_text()
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Gate"
    }
    assert openers == {"requests/opening.py"}


def test_paths_are_compared_with_folders_in_one_place() -> None:
    """A prefix of text is not a folder, and names may differ in case alone: `model/paths.py` knows both."""
    written = re.compile(
        r"""startswith\(([^)]*os\.sep|.*\}/"\)|.*\+ "/"|.*, ""\)\))|commonpath|is_relative_to|normcase\(.*startswith"""
    )
    found = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        if any(map(written.search, module.read_text().splitlines()))
    }
    assert not found


def test_host_origin_and_token_are_checked_in_one_place() -> None:
    """And uvicorn, the one web server, is used in one place too."""
    for word in ("compare_digest", '"origin"', "uvicorn import", "create_server(", "aiohttp"):
        files = [file for file in python_files("src/agent_exec/apps") if word in file.read_text()]
        assert {file.parent for file in files} <= {SOURCE / "apps" / "web"}, (word, files)


def test_servers_live_and_stream_in_one_way() -> None:
    """Whatever listens is started, ended on a signal, and sends its events by the same code."""
    for word, home in (
        ("first_signal(", {"signals.py", "web/serving.py"}),
        ("dump_traceback_later", {"web/serving.py"}),
        (".hang_up(", {"web/serving.py"}),
        ('"text/event-stream"', {"web/events.py"}),
        ('"more_body": ', {"web/events.py", "serve/files.py", "serve/preview_proxy.py"}),
    ):
        apps = SOURCE / "apps"
        files = {str(file.relative_to(apps)) for file in apps.rglob("*.py") if word in file.read_text()}
        assert files == home, word


def test_words_are_quoted_and_programs_found_in_one_place() -> None:
    finders = {module for module in MODULES if "split(os.pathsep)" in module.read_text()}
    quoting = {module for module in MODULES if "LASTEXITCODE" in module.read_text()}
    assert quoting == {SOURCE / "requests/shells.py"}
    assert finders == {SOURCE / "requests/leaving.py"}, (
        "where a folder that commands may write to ends the search"
    )


def test_environments_are_built_in_one_place() -> None:
    """Which variables a command inherits is decided in requests/variables.py, and for a box in the sandbox."""
    found = {module for module in MODULES if re.search(r"\benv(iron)?\.items\(\)", module.read_text())}
    assert {
        str(module.relative_to(SOURCE)) for module in found if "host" not in module.relative_to(SOURCE).parts
    } == {
        "requests/variables.py",
        "sandbox/environment.py",
    }


def test_boxes_are_planned_in_one_place() -> None:
    """Every face gets its plan from one factory, which cannot be called without what is ours."""
    callers: dict[str, set[str]] = {"make_plan": set(), "snapshot": set(), "Guard": set()}
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.Call) and (name := called_name(node.func)) in callers:
                callers[name].add(str(module.relative_to(SOURCE)))
    assert callers["make_plan"] == {"sandbox/sandbox.py"}
    assert callers["snapshot"] - {"faces/slash/view.py"} <= {
        "sandbox/report/changes.py",
        "sandbox/report/guard.py",
    }
    assert {file for file in callers["Guard"] if file.startswith(("sandbox", "engine", "jobs", "faces"))} == {
        "sandbox/sandbox.py"
    }


def test_commands_are_dispatched_in_one_place() -> None:
    """A face that confined its commands by itself would forget a file of the rules, or a folder, one day."""

    def places(words: str) -> set[str]:
        return {str(one.relative_to(SOURCE)) for one in MODULES if re.search(words, one.read_text())}

    assert places(r"sandbox\(\)\.guard\(") == {
        "jobs/confined_job.py",  # in the supervisor of a job, by the order that it was sent
        "requests/dispatch.py",
        "sandbox/plan/ours.py",  # for `run(..., sandbox=profile)`, which no face calls
    }
    assert places("sandbox must be a Profile") == {"engine/engine.py", "requests/dispatch.py"}
    assert places(r"\brun_command\(") == {"engine/engine.py", "requests/dispatch.py"}


def test_a_sandbox_keeps_what_it_knows_in_itself() -> None:
    """A second Sandbox knows nothing of the first: no module has a cache."""
    kept = set()
    for module in MODULES:
        name = str(module.relative_to(SOURCE))
        if name.startswith("sandbox/") and not name.startswith(("sandbox/linux/", "sandbox/proxy/")):
            for node in parsed(module).body:
                value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
                is_call = isinstance(value, ast.Call) and called_name(value.func) in {
                    "set",
                    "dict",
                    "list",
                    "WeakSet",
                }
                if (isinstance(value, ast.Dict | ast.List) and not ast.unparse(value)[1:-1]) or is_call:
                    kept.add(name)
    assert kept == {"sandbox/environment.py"}, "what the user's login has set is a fact of the process"


def test_a_wait_is_called_off_in_one_way() -> None:
    """A second class with `is_set`, or a loop that looks at one between short waits, is a second way."""
    classes = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(one, ast.FunctionDef) and one.name == "is_set" for one in node.body)
    }
    assert classes == {"model/cancel.py"}
    loops = [
        f"{module}:{loop.lineno}"
        for module in MODULES
        for loop in ast.walk(parsed(module))
        if isinstance(loop, ast.While) and polls(loop)
    ]
    assert not loops, "register a callback with Cancel.calling, and wait once"


def test_a_job_is_started_in_one_way() -> None:
    """The program starts a supervisor early, and nothing else: what is judged, confined and sent is the same.

    The process of a check is no job, and gets its order in the same form.
    """
    callers: dict[str, set[str]] = {"Launcher": set(), "ahead": set(), "send_order": set()}
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.Call) and (name := called_name(node.func)) in callers:
                callers[name].add(str(module.relative_to(SOURCE)))
    assert callers == {
        "Launcher": {"apps/main.py", "jobs/start.py"},
        "ahead": {"jobs/start.py"},
        "send_order": {"jobs/start.py", "jobs/handoff.py", "jobs/readiness/checks.py"},
    }


def polls(loop: ast.While) -> bool:
    """True if a loop asks whether something was cancelled, and waits for a short time by a constant's name."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    short = [
        call
        for call in calls
        if called_name(call.func) in ("wait", "acquire", "result", "sleep")
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        for node in ast.walk(given)
        if (isinstance(node, ast.Name) and node.id.isupper())
        or (isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1)
    ]
    return bool(short) and any(called_name(call.func) == "is_set" for call in calls)


def called_name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def is_opener(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in ("open", "fdopen")
    if not isinstance(called, ast.Attribute):
        return False
    of_module = isinstance(called.value, ast.Name) and called.value.id in ("os", "io", "codecs", "shutil")
    files = ("read_text", "read_bytes", "write_text", "write_bytes", "copyfile")
    return called.attr in files or (of_module and called.attr in ("open", "copy"))


def test_modules_are_small_and_open_with_a_sentence() -> None:
    for module in MODULES:
        text = module.read_text()
        assert len(text.splitlines()) <= 500, module
        first = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
        assert first.endswith((".", ":")), (module, first)


def test_sorted_all() -> None:
    for module in MODULES:
        for node in parsed(module).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
            ):
                names = ast.literal_eval(node.value)
                assert names == sorted(names, key=constants_first), module


def constants_first(name: str) -> tuple[bool, str]:
    """The order that the linter keeps: constants, then all others."""
    return not name.isupper(), name


def loaded_by(code: str) -> set[str]:
    show = "; import sys; print(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-IS", "-c", f"import sys; sys.path.append({str(SOURCE.parent)!r}); {code}{show}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(out.stdout.split())


def test_a_run_imports_nothing_heavy() -> None:
    assert not HEAVY & loaded_by("import agent_exec")
    loaded = loaded_by("import agent_exec; agent_exec.run(['true'])")
    assert not (HEAVY | {"threading", "socket", "signal", "concurrent", "collections"}) & loaded


def test_tools_are_checked_exported_and_answered_in_one_place() -> None:
    """A second validator, exporter or result would differ from the first one day."""
    words = ("read_only_hint", "inputSchema", "input_schema", "retriable")
    for module in MODULES:
        if module.parent.name == "tools":
            continue
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.Constant):
                assert node.value not in words or module.name == "secure.py", module
            if isinstance(node, ast.ClassDef):
                assert node.name not in ("Result", "Toolset", "Caller"), module
            if isinstance(node, ast.FunctionDef):
                assert node.name not in ("reads_only", "open_world", "copied"), module


def test_a_command_line_call_loads_no_tools() -> None:
    code = (
        "from agent_exec.apps.main import main; main(['run', '--root', 'x', '--help']); import sys; "
        "import agent_exec.faces.verbs, agent_exec.apps.cli.run; "
        "print(*(m for m in sys.modules if m.startswith('agent_exec.tools')), file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stderr.strip() == ""


def test_hosts_have_one_grammar() -> None:
    """A profile, a request and a TLS greeting must not read one spelling in two ways."""
    signs = re.compile(r"inet_(aton|pton)|[\"']idna[\"']|IPv4Address\(|xyz0123456789-_")
    found = {str(module.relative_to(SOURCE)) for module in MODULES if signs.search(module.read_text())}
    allowed = {"sandbox/proxy/addresses.py"}  # which takes the last bytes of an IPv6 address
    assert found - allowed == {"sandbox/hosts.py"}, "parse hosts with sandbox/hosts.py"


def test_addresses_of_callers_are_dialled_in_one_place() -> None:
    """Each address is looked at first, and no answer leads elsewhere: a second client would forget that."""
    clients = re.compile(r"http\.client|urlopen|HTTPS?Connection|create_connection\(")
    found = {str(module.relative_to(SOURCE)) for module in MODULES if clients.search(module.read_text())}
    assert {name for name in found if not name.startswith(("host/", "sandbox/"))} == {
        "faces/remote.py",  # the server that a program names for itself
        "jobs/events/webhook.py",
    }


def test_expressions_of_callers_are_compiled_in_one_place() -> None:
    """Elsewhere they could be searched without a time limit."""
    found = {str(module.relative_to(SOURCE)) for module in MODULES if "import regex" in module.read_text()}
    assert found == {"model/patterns.py"}


def test_subjects_are_nouns() -> None:
    """The rule of CONTRIBUTING.md, as far as words can say."""
    riddles = re.compile(r"\b(whoever|nobody|somebody|for ever)\b", re.IGNORECASE)
    for module in MODULES:
        found = riddles.search(module.read_text())
        assert found is None, f"{module}: name the subject instead of {found[0]!r}"


def test_the_version_has_one_place() -> None:
    assert agent_exec.__version__ == version.__version__
    assert "version" in PROJECT["project"]["dynamic"]
    release = version.__version__.partition(".dev")[0]
    assert release in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_names_the_commands_that_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "python3 dev.py run -- echo hello" in readme
    assert "python3 dev.py test" in readme
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec python3 dev.py test"


def test_the_reference_of_the_command_line_is_up_to_date() -> None:
    words = [sys.executable, str(ROOT / "tools" / "cli_reference.py"), "--check"]
    out = subprocess.run(words, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_in_the_documents_run(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [sys.executable, "-W", "error", "-c", block]
        env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
        out = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert out.returncode == 0, f"{block}\n{out.stderr}"


def test_every_page_is_linked_and_every_link_leads_somewhere() -> None:
    linked = set()
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            target = (page.parent / link).resolve()
            assert target.exists(), f"{page.name} links to {link}, which does not exist"
            if page.name == "README.md":
                linked.add(target)
    assert {page for page in PAGES if page.name != "README.md"} <= linked


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_the_conversation_in_the_documents_is_what_is_said() -> None:
    page = (ROOT / "docs" / "sessions.md").read_text()
    script, told = re.findall(r"```python\n([^`]*def say.*?)```.*?```text\n(.*?)```", page, re.DOTALL)[0]
    env = {**os.environ, "PYTHON_BASIC_REPL": "1"}  # since 3.13, another prompt needs a cleverer terminal
    words = [sys.executable, "-c", script]
    out = subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout

    def lasting(text: str) -> list[str]:
        text = re.sub(r"(Chunk ID:|Wall time:|session ID|token count:) \S+", r"\1", text)
        text = re.sub(r"(?<=\^C).*?(?=KeyboardInterrupt)", "", text, flags=re.DOTALL)  # differs with Python's
        return [line.strip() for line in text.splitlines() if line.strip()]

    assert lasting(out) == lasting(told)


def test_architecture_is_short_and_maps_every_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 200
    for folder in {module.parent.relative_to(SOURCE.parent) for module in MODULES}:
        name = str(folder).removeprefix("agent_exec/")
        assert f"`{name}`" in text, f"{name} is not on the map"
    there = {path.name for folder in ("src", "tests", "tools", "bench", ".") for path in python_files(folder)}
    for name in re.findall(r"`(\w+\.py)`", text):
        assert name in there, f"{name} is on the map and nowhere else"


def test_folders_are_small_enough_to_see_their_parts() -> None:
    for folder in {module.parent for module in MODULES}:
        there = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(there) <= 26, f"{folder.relative_to(SOURCE)} has {len(there)} files: group them"


def test_every_dependency_has_a_reason_and_a_version() -> None:
    reasons = (ROOT / "CONTRIBUTING.md").read_text()
    pinned = (ROOT / "constraints.txt").read_text()
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    for requirement in wanted:
        name = re.split(r"[<>=;\[ ]", requirement)[0]
        assert f"`{name}`" in reasons, f"{name} has no reason in CONTRIBUTING.md"
        assert re.search(rf"^{re.escape(name)}==", pinned, re.MULTILINE | re.IGNORECASE), (
            f"{name} is not pinned"
        )
    for line in pinned.splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", line), line


@cache
def project_files() -> tuple[Path, ...]:
    """Return what is tracked, and what `git add` would track."""
    words = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"]
    out = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    found = (ROOT / name for name in out.stdout.split("\0") if name)
    return tuple(path for path in found if path.is_file())


def test_no_file_names_this_machine() -> None:
    # A path of one part, such as /root or /work, is in examples too; PERSONS is about the folders of people.
    paths = [str(path) for path in (ROOT, Path.home()) if len(path.parts) > 2 and path.parts[1] not in HOMES]
    for file in project_files():
        data = file.read_bytes()
        for path in paths:
            assert not re.search(rb"(?<![\w.~-])" + re.escape(os.fsencode(path)) + rb"(?![\w-])", data), file
        for name in re.findall(rb"/(?:home|Users)/([A-Za-z][\w.-]*)", data):
            assert name in PERSONS, f"{file} names the home folder of {name.decode()}"


def test_the_grammar_of_escape_sequences_is_in_one_module() -> None:
    """The text and the screen agree where a sequence ends, because one parser says so."""
    found = {str(module.relative_to(SOURCE)) for module in MODULES if "[0-?]" in module.read_text()}
    assert found == {"terminal/parser.py"}


def test_there_are_no_stray_files() -> None:
    """Swap files, backups and the like would be packed into the wheel."""
    rooms = {".ci", ".github", "bench", "docs", "scripts", "src", "tests", "tools", "web"}
    for file in project_files():
        top, *below = file.relative_to(ROOT).parts
        assert not below or top in rooms, file
        assert not re.search(r"\.sw[a-z]$|~$|\.(orig|rej|bak|tmp|pyc|log)$|^\.DS_Store$", file.name), file
        if SOURCE in file.parents:
            assert file.suffix in {".css", ".html", ".js", ".json", ".md", ".py", ".typed", ".bash"}, file
            assert not file.name.startswith("."), file


def test_every_program_that_tests_need_has_a_way_to_install_it() -> None:
    named = set()
    for file in (ROOT / "tests").rglob("*.py"):
        for words in re.findall(r"\b(?:which|needs?)\(((?:\"[^\"]+\",? ?)+)", file.read_text()):
            named |= set(re.findall(r"\"([^\"]+)\"", words))
    aliases = {alias for names in programs.ALIASES.values() for alias in names}
    assert named - aliases <= programs.APT.keys() | programs.OTHER.keys()
    assert programs.install_hint(lambda name: f"/bin/{name}") == ""
    hint = programs.install_hint(lambda name: None if name in ("zsh", "pwsh") else name)
    assert hint.endswith("zsh, pwsh. To install: apt install zsh; PowerShell's own package")


def test_the_workflow_runs_what_the_readme_says_on_each_python() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert re.search(r"^ +- run: python3 dev\.py test$", workflow, re.MULTILINE)
    versions = re.findall(r'"(3\.\d+)"', re.findall(r"python: \[(.*)\]", workflow)[0])
    known = "Programming Language :: Python :: "
    classified = [line.removeprefix(known) for line in PROJECT["project"]["classifiers"] if known in line]
    assert versions == classified
