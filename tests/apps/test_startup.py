"""A call pays for nothing that it does not use."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = {
    "argparse",
    "asyncio",
    "ctypes",
    "dataclasses",
    "datetime",
    "enum",
    "hashlib",
    "json",
    "logging",
    "pathlib",
    "random",
    "re",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
}


def said_by(cli: Cli, code: str, *words: str, **env: str) -> str:
    """Return what code prints to stderr that carries out a call in an interpreter of its own."""
    out = subprocess.run(
        [sys.executable, "-IS", "-c", f"import sys; sys.path.append({str(SOURCE)!r})\n{code}", *words],
        capture_output=True,
        text=True,
        env={**cli.env, **env},
        cwd=cli.cwd,
        check=True,
    )
    assert out.stdout.startswith('{"schema_version"')
    return out.stderr


def loaded_by(cli: Cli, *words: str) -> set[str]:
    """Return the modules that are loaded when a call is over."""
    code = (
        "from agent_exec.apps.main import main\n"
        "code = main(sys.argv[1:])\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
        "sys.exit(code)"
    )
    return set(said_by(cli, code, *words).split())


@pytest.mark.parametrize(
    "words",
    [
        ["status", "{id}"],
        ["tail", "{id}"],
        ["tail", "{id}", "--merged"],
        ["wait", "{id}"],
        ["kill", "{id}"],
        ["list"],
        ["ps", "--all"],
        ["delete", "{id}"],
        ["gc"],
        ["schema"],
        ["run", "--", "true"],
        ["run", "--wait", "--stdin", "x", "--env", "A=b", "--", "cat"],
    ],
    ids=" ".join,
)
def test_imports(cli: Cli, words: list[str]) -> None:
    job_id = cli("run", "--", "echo", "hello")["job_id"]
    loaded = loaded_by(cli, *(word.replace("{id}", job_id) for word in words))
    assert "agent_exec.apps.main" in loaded
    assert not loaded & HEAVY


def test_status_loads_no_supervisor(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    loaded = {name for name in loaded_by(cli, "status", job_id) if name.startswith("agent_exec.")}
    assert "agent_exec.jobs.record" in loaded
    assert not {
        name for name in loaded if name.startswith(("agent_exec.engine", "agent_exec.jobs.supervise"))
    }


@pytest.mark.parametrize("words", [["status", "{id}"], ["list"], ["ps", "--all"]], ids=" ".join)
def test_a_call_that_only_reads_loads_no_errors_and_nothing_that_writes(cli: Cli, words: list[str]) -> None:
    job_id = cli("run", "--", "echo", "hello")["job_id"]
    loaded = loaded_by(cli, *(word.replace("{id}", job_id) for word in words))
    assert not loaded & {
        "agent_exec.model.errors",
        "agent_exec.jobs.record_writer",
        "agent_exec.logs.writing",
    }


def test_status_lists_the_folder_of_a_job_once(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    listed = listed_by(cli, "from agent_exec.apps.main import program", "status", job_id)
    assert [folder for folder in listed if folder.endswith(job_id)] == [str(cli.root / job_id)]


def test_the_program_finds_its_modules_without_listing_folders(cli: Cli) -> None:
    """But for the two in which the first modules are found as Python does it."""
    job_id = cli("run", "--", "true")["job_id"]
    listed = listed_by(cli, "from agent_exec.apps.quick_import import program", "status", job_id)
    package = str(SOURCE / "agent_exec")
    assert {folder for folder in listed if folder.startswith(package)} <= {package, f"{package}/apps"}


def listed_by(cli: Cli, code: str, *words: str) -> list[str]:
    """Return the folders that a call lists."""
    hook = (
        "def hook(event, given):\n"
        "    if event in ('os.listdir', 'os.scandir'): sys.stderr.write(f'{given[0]}\\n')\n"
        f"sys.addaudithook(hook)\n{code}\nprogram()"
    )
    return said_by(cli, hook, *words, PYTHONDONTWRITEBYTECODE="").splitlines()


def package_of(folder: Path, text: str) -> Path:
    """Make a package of our name, with all that imports quickly and one module more; return that one."""
    for package in (folder / "agent_exec", folder / "agent_exec" / "apps"):
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    (folder / "agent_exec" / "apps" / "quick_import.py").write_bytes(
        (SOURCE / "agent_exec" / "apps" / "quick_import.py").read_bytes()
    )
    module = folder / "agent_exec" / "apps" / "other.py"
    module.write_text(text)
    return module


def imported(folder: Path, what: str, *flags: str) -> str:
    """Import `agent_exec.apps.other` as the program does, and return an expression of it."""
    code = (
        f"import sys; sys.path.append({str(folder)!r})\n"
        "from agent_exec.apps.quick_import import install; install()\n"
        f"import agent_exec.apps.other as it; print({what})"
    )
    env = {"PATH": "/usr/bin:/bin"}
    out = subprocess.run(
        [sys.executable, *flags, "-S", "-c", code], capture_output=True, text=True, env=env, check=False
    )
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


def test_a_changed_module_is_compiled_again(tmp_path: Path) -> None:
    module = package_of(tmp_path, "value = 1")
    assert imported(tmp_path, "it.value") == "1"
    assert imported(tmp_path, "it.value") == "1"
    module.write_text("value = 2  # and longer")
    assert imported(tmp_path, "it.value") == "2"


def test_damaged_or_missing_code_is_compiled_again(tmp_path: Path) -> None:
    package_of(tmp_path, "value = 1")
    where = "it.__spec__.cached"
    cached = Path(imported(tmp_path, where))
    assert cached.exists()
    cached.write_bytes(b"nonsense")
    assert imported(tmp_path, "it.value") == "1"
    cached.unlink()
    assert imported(tmp_path, "it.value") == "1"
    assert cached.exists()


def test_a_module_says_of_itself_what_it_does_elsewhere(tmp_path: Path) -> None:
    module = package_of(tmp_path, '"""A text."""\nvalue = __file__, __package__')
    what = "it.value, it.__doc__, it.__cached__, it.__spec__.origin, it.__loader__.get_source(it.__name__)"
    for _ in range(2):
        told = imported(tmp_path, what)
        assert str(module) in told
        assert "A text." in told
    assert imported(tmp_path, "type(it.__loader__).__name__", "-O") == "SourceFileLoader"
    assert imported(tmp_path, "type(it.__loader__).__name__") != "SourceFileLoader"


def test_without_rules_a_run_loads_no_judge(cli: Cli, tmp_path: Path) -> None:
    cli.env = {**cli.env, "XDG_CONFIG_HOME": str(tmp_path / "none")}
    judge = ("agent_exec.policy", "agent_exec.requests.gate", "agent_exec.requests.rulefile")
    assert not {name for name in loaded_by(cli, "run", "--", "true") if name.startswith(judge)}
    assert {name for name in loaded_by(cli, "run", "--", "echo", "kill") if name.startswith(judge)}


def test_a_supervisor_that_gets_ready_loads_no_errors() -> None:
    """Their classes are the most expensive of all that it could load before it starts the command."""
    code = (
        f"import sys; sys.path.append({str(SOURCE)!r})\nimport agent_exec.jobs.supervise\nprint(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split())
    assert "agent_exec.jobs.supervise" in loaded
    assert not loaded & ({"agent_exec.model.errors", "agent_exec.engine.run"} | HEAVY)
