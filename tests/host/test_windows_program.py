"""A program on Windows is found where the command's own environment says, and nowhere else."""

import pytest

from agent_exec.host.windows.program import (
    directory_error,
    environment,
    find_program,
    program_error,
    resolve,
    variable,
)
from agent_exec.host.windows.quoting import command_line
from agent_exec.model.errors import (
    CommandNotExecutable,
    CommandNotFound,
    InvalidArgument,
    LaunchFailed,
    NotADirectory,
    WorkdirForbidden,
    WorkdirNotFound,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.windows.program import Kind, Look

ROOT = "C:\\Windows"
CWD = "D:\\work"
PATHEXT = ".COM;.EXE;.BAT;.CMD;.VBS;.JS"


def disk(*files: str, folders: "tuple[str, ...]" = ()) -> "Look":
    """A disk that holds these, whatever the case and the slashes of their names."""
    import ntpath

    def key(path: str) -> str:
        return ntpath.normcase(ntpath.normpath(path))

    held: dict[str, Kind] = {key(file): "file" for file in files}
    held.update({key(folder): "directory" for folder in folders})
    return lambda path: held.get(key(path))


def find(name: str, look: "Look", **env: str) -> str:
    return find_program(name, CWD, {"PATHEXT": PATHEXT, **env}, ROOT, look)


def test_path_is_searched_in_order() -> None:
    look = disk("C:\\b\\git.exe", "C:\\a\\git.cmd")
    assert find("git", look, PATH="C:\\a;C:\\b") == "C:\\a\\git.cmd"
    assert find("git", look, PATH="C:\\b;C:\\a") == "C:\\b\\git.exe"


def test_pathext_says_which_ending_comes_first() -> None:
    look = disk("C:\\a\\x.exe", "C:\\a\\x.cmd", "C:\\a\\x.bat")
    assert find("x", look, PATH="C:\\a") == "C:\\a\\x.exe"
    assert find("x", look, PATH="C:\\a", PATHEXT=".cmd;.EXE") == "C:\\a\\x.cmd"
    assert find("x.bat", look, PATH="C:\\a") == "C:\\a\\x.bat"


def test_a_dot_in_a_name_is_no_ending() -> None:
    look = disk("C:\\a\\python3.11.exe")
    assert find("python3.11", look, PATH="C:\\a") == "C:\\a\\python3.11.exe"


def test_what_only_a_desktop_opens_is_passed_over() -> None:
    look = disk("C:\\a\\tool.js", "C:\\a\\tool.cmd")
    assert find("tool", look, PATH="C:\\a", PATHEXT=".JS;.CMD") == "C:\\a\\tool.cmd"
    with pytest.raises(CommandNotExecutable):
        find("tool.js", disk("C:\\a\\tool.js"), PATH="C:\\a")


def test_the_current_directory_is_not_searched() -> None:
    look = disk("D:\\work\\evil.exe")
    for path in ("", ";", "C:\\a;;C:\\b"):
        with pytest.raises(CommandNotFound):
            find("evil", look, PATH=path)
    assert find("evil", look, PATH="C:\\a;.") == "D:\\work\\evil.exe"
    assert find(".\\evil", look, PATH="") == "D:\\work\\evil.exe"


def test_without_a_path_the_system_is_searched() -> None:
    look = disk("C:\\Windows\\System32\\where.exe")
    assert find("where", look) == "C:\\Windows\\System32\\where.exe"
    with pytest.raises(CommandNotFound):
        find("where", look, PATH="")


def test_names_of_variables_have_no_case() -> None:
    look = disk("C:\\a\\x.cmd")
    assert find_program("x", CWD, {"Path": "C:\\a", "PathExt": ".cmd"}, ROOT, look) == "C:\\a\\x.cmd"
    assert variable({"Path": "1"}, "PATH") == "1"
    assert variable({}, "PATH") is None


def test_a_quoted_folder() -> None:
    look = disk("C:\\Program Files\\x.exe")
    assert find("x", look, PATH='"C:\\Program Files"') == "C:\\Program Files\\x.exe"


@pytest.mark.parametrize(
    "name", ["sub\\x", "sub/x", ".\\sub\\x.exe", "D:\\work\\sub\\x", "D:/work/sub/x.EXE"]
)
def test_a_path_is_seen_from_the_directory(name: str) -> None:
    found = find(name, disk("D:\\work\\sub\\x.exe"), PATH="C:\\nowhere")
    assert found.lower() == "d:\\work\\sub\\x.exe"


def test_missing_programs_say_where_was_looked() -> None:
    with pytest.raises(CommandNotFound, match="in the folders of PATH"):
        find("nothing", disk(), PATH="C:\\a")
    with pytest.raises(CommandNotFound, match="check the path"):
        find(".\\nothing", disk())


def test_what_is_there_and_is_no_program() -> None:
    with pytest.raises(CommandNotExecutable, match="directory"):
        find("C:\\dir", disk(folders=("C:\\dir",)))
    with pytest.raises(CommandNotExecutable, match="interpreter"):
        find("C:\\notes.txt", disk("C:\\notes.txt"))
    with pytest.raises(CommandNotExecutable, match="interpreter"):
        find("script", disk("C:\\a\\script"), PATH="C:\\a")


def test_a_folder_on_the_path_hides_no_program() -> None:
    look = disk("C:\\b\\x.exe", folders=("C:\\a\\x", "C:\\a\\x.exe"))
    assert find("x", look, PATH="C:\\a;C:\\b") == "C:\\b\\x.exe"
    with pytest.raises(CommandNotFound):
        find("x", look, PATH="C:\\a")


def test_a_program_keeps_its_words() -> None:
    env = {"PATH": "C:\\a"}
    program, argv = resolve(["x", "a b", "%"], CWD, env, ROOT, disk("C:\\a\\x.exe"))
    assert (program, argv) == ("C:\\a\\x.exe", ("x", "a b", "%"))


def test_a_batch_file_is_run_by_the_systems_own_shell() -> None:
    env = {"PATH": "C:\\a", "COMSPEC": "C:\\evil\\cmd.exe"}
    program, argv = resolve(["x", "a b"], CWD, env, ROOT, disk("C:\\a\\x.cmd"))
    assert program == argv[0] == "C:\\Windows\\System32\\cmd.exe"
    assert command_line(argv) == f'{program} /e:on /v:off /d /s /c ""C:\\a\\x.cmd" "a b""'
    with pytest.raises(InvalidArgument):
        resolve(["x", '"&calc'], CWD, env, ROOT, disk("C:\\a\\x.cmd"))


def test_a_shell_line() -> None:
    look = disk("C:\\Windows\\System32\\cmd.exe")
    _, argv = resolve(["cmd", "/c", 'echo "a"'], CWD, {}, ROOT, look)
    assert command_line(argv) == 'cmd /s /c "echo "a""'


def test_lines_that_are_too_long() -> None:
    env = {"PATH": "C:\\a"}
    look = disk("C:\\a\\x.exe", "C:\\a\\y.cmd")
    resolve(["x", "a" * 32000], CWD, env, ROOT, look)
    for name, size in (("x", 33000), ("y", 8200)):
        with pytest.raises(LaunchFailed, match="too long"):
            resolve([name, "a" * size], CWD, env, ROOT, look)


def test_environment_has_one_of_each_name_sorted() -> None:
    env: dict[str | bytes, str | bytes] = {"b": "1", "Path": "x", "PATH": "y", b"A": b"2"}
    found = environment(env, ROOT)
    assert list(found.items()) == [("A", "2"), ("b", "1"), ("PATH", "y"), ("SYSTEMROOT", ROOT)]
    assert environment({"SystemRoot": "E:\\Win"}, ROOT) == {"SystemRoot": "E:\\Win"}
    assert environment({}, ROOT) == {"SYSTEMROOT": ROOT}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (2, CommandNotFound),
        (3, CommandNotFound),
        (5, CommandNotExecutable),
        (193, CommandNotExecutable),
        (216, CommandNotExecutable),
        (740, CommandNotExecutable),
        (206, LaunchFailed),
        (267, WorkdirForbidden),
        (8, LaunchFailed),
    ],
)
def test_what_the_system_says_has_a_type(error: int, kind: type[Exception]) -> None:
    assert type(program_error(error, "x", CWD)) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError(2, "no"), WorkdirNotFound),
        (NotADirectoryError(20, "no"), NotADirectory),
        (PermissionError(13, "no"), WorkdirForbidden),
        (None, WorkdirForbidden),
        (OSError(5, "no"), LaunchFailed),
    ],
)
def test_directories_have_errors_of_their_own(error: OSError | None, kind: type[Exception]) -> None:
    assert type(directory_error(error, CWD)) is kind
