"""From a typed line to its end: what is accepted runs, in order, and nothing of it is left."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_exec.faces.slash.core import MOST_WAITING, ShellExecution, SlashCore
from agent_exec.faces.slash.feedback import SlashFeedback
from agent_exec.faces.slash.guard import NO_SHELL, AllowedShell
from agent_exec.faces.slash.history import History
from agent_exec.faces.slash.line import COMMANDS, SlashCommandSubmitted
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate, Request
from agent_exec.sandbox.profile import Profile
from faces.slash.typed import FORBIDDEN, MakeCore, refused, run, script, start, texts
from support import exists, processes_marked, wait_until

DEAF = f"#!{sys.executable} -IS\nimport signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(600)\n"


def test_s01_s02_a_typed_line_runs_in_the_folder_of_the_tab(core: SlashCore, folder: Path) -> None:
    answer = core.submit("/shell pwd", str(folder))
    assert answer.submitted == SlashCommandSubmitted("shell", "pwd")
    assert answer.feedback == SlashFeedback("shell: running: pwd", "Info")
    execution = answer.execution
    assert execution is not None
    assert execution.wait(60)
    assert execution.result is not None
    assert execution.result.stdout == f"{folder}\n"
    assert (execution.state, execution.done, core.running) == ("ended", True, None)


def test_s03_s12_s13_the_default_shell_starts_it_and_never_reads_it(core: SlashCore, folder: Path) -> None:
    assert AllowedShell.default("linux") == AllowedShell("/bin/sh")
    assert AllowedShell.default("win32") == AllowedShell("pwsh.exe", "powershell")
    assert core.guard.shell == AllowedShell.default()
    (folder / "a.txt").touch()
    out = run(core, "/shell printf %s, * a$HOME '' '!' # \\n", folder)
    assert out.stdout == "*,a$HOME,,!,#,\\n,"


@pytest.mark.parametrize(
    "word", ["'a b'", '"it\'s"', "'\"'", "-n", "--", "'('", "{a,b}", "[x]", "!!", "\uff05\uff1b\uff5c", "*?"]
)
def test_s07_what_was_checked_is_what_runs(core: SlashCore, folder: Path, word: str) -> None:
    line = f"/shell {sys.executable} -IS ./show.py {word} end"
    (folder / "show.py").write_text("import sys; print(sys.argv[1:])")
    plain = word[1:-1] if word[0] in "'\"" else word
    assert run(core, line, folder).stdout == f"{[plain, 'end']!r}\n"


def test_s12_s13_another_shell_is_refused_until_it_is_allowed(make_core: MakeCore, folder: Path) -> None:
    other = AllowedShell("/usr/bin/env", "none")
    core = make_core(shell=other)
    assert refused(core, "/shell echo hi", folder).text == "shell: /usr/bin/env is not an allowed shell"
    core.guard.allowed = (*core.guard.allowed, other)
    assert run(core, "/shell echo hi", folder).stdout == "hi\n"


def test_s13_without_a_shell(make_core: MakeCore, folder: Path) -> None:
    core = make_core(shell=NO_SHELL)
    assert run(core, "/shell echo hi", folder).stdout == "hi\n"
    execution = start(core, "/shell 'echo foo'", folder)
    assert execution.wait(60)
    assert execution.result is None
    assert execution.feedback.status == "Error"
    assert "no program 'echo foo'" in execution.feedback.text
    assert texts(core.view) == ["hi"]  # nothing was run, and so nothing is forgotten


def test_s04_s15_s18_s38_the_bottom_bar_has_a_summary(core: SlashCore, folder: Path) -> None:
    good = start(core, "/shell echo hi", folder)
    assert good.wait(60)
    assert re.fullmatch(r"shell: exit=0 \d+ms stdout=hi", good.feedback.text)
    assert good.feedback.status == "Success"
    bad = start(core, "/shell ls ./missing", folder)
    assert bad.wait(60)
    assert re.fullmatch(r"shell: exit=2 \d+ms stderr=ls: .*", bad.feedback.text)
    assert bad.feedback.status == "Error"


def test_s17_other_commands_are_for_the_interface(core: SlashCore, folder: Path) -> None:
    for command in COMMANDS[1:]:
        answer = core.submit(f" /{command.name}  some thing ", str(folder))
        assert answer.submitted == SlashCommandSubmitted(command.name, "some thing")
        assert (answer.feedback, answer.execution) == (None, None)


@pytest.mark.parametrize(
    "line",
    [
        "/",
        "/ shell ls",
        "/shellx ls",
        "/SHELL ls",
        "/shell\nls",
        "ls",
        "",
        "\uff0fshell ls",
        "/she\x1b[31mll",
    ],
)
def test_s18_what_is_no_command_is_an_error_and_safe_to_show(
    core: SlashCore, folder: Path, line: str
) -> None:
    told = refused(core, line, folder)
    assert told.status == "Error"
    assert told.text.startswith(("slash error: missing", "unknown command: "))
    assert told.text.isprintable()


def test_s06_s34_a_refused_command_keeps_the_old_output(core: SlashCore, folder: Path) -> None:
    run(core, "/shell echo first", folder)
    version = core.view.version
    assert refused(core, "/shell echo a && echo b", folder) == FORBIDDEN
    assert (texts(core.view), core.view.version) == (["first"], version)


def test_s14_s36_only_safe_variables_are_passed(make_core: MakeCore, folder: Path) -> None:
    core = make_core(ShellPermission(True, env={"LANG": "C", "A": "1"}))
    names = {line.split("=")[0] for line in run(core, "/shell env", folder).stdout.splitlines()}
    assert names <= {"LANG", "A", "PWD", "SHLVL", "_", "OLDPWD"}  # some shells add a few of their own
    assert {"LANG", "A"} <= names
    bare = make_core(ShellPermission(True, env={"A": "1"}), shell=NO_SHELL)
    assert run(bare, "/shell env", folder).stdout == "A=1\n"


def test_s10_s37_without_permission_nothing_runs(make_core: MakeCore, folder: Path) -> None:
    permission = ShellPermission.read(str(folder), {"OX_ALLOW_SHELL": "false"})
    core = make_core(permission)
    for line in ("/shell touch ./made", "/shell a && b", "/shell"):
        assert refused(core, line, folder) == SlashFeedback("Shell commands disabled", "Warn")
    assert list(folder.iterdir()) == []


def test_s19_s38_what_was_typed_is_in_the_history_also_what_failed(make_core: MakeCore, folder: Path) -> None:
    core = make_core(history=History())
    for line in ("/shell echo a", "/shell a | b", "/nothing", "/help", "no command"):
        core.submit(line, str(folder))
    assert core.history.lines == ["/shell echo a", "/shell a | b", "/nothing", "/help"]


def test_s20_the_request_says_where_it_runs(core: SlashCore, folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    execution = start(core, "/shell ls -a", folder.parent / "link")
    assert execution.request.working_dir == str(folder)
    assert execution.wait(60)
    assert core.view.header == ("$ ls -a", f"cwd: {folder}")


def test_s29_when_and_how_long(core: SlashCore, folder: Path) -> None:
    out = run(core, "/shell true", folder)
    assert out.timestamp > 1_600_000_000_000
    assert 0 <= out.duration_ms < 60_000
    assert re.fullmatch(
        r"exit: 0 duration: \d+ms timestamp: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", core.view.footer
    )


def test_s31_s32_the_output_stays_until_the_next_command_starts(core: SlashCore, folder: Path) -> None:
    assert (core.view.header, core.view.footer, texts(core.view)) == ((), "", [])
    run(core, "/shell echo first", folder)
    generation = core.view.generation
    core.submit("/help", str(folder))
    assert texts(core.view) == ["first"]
    run(core, "/shell echo second", folder)
    assert (texts(core.view), core.view.generation) == (["second"], generation + 1)


def test_the_view_is_filled_while_the_command_runs(core: SlashCore, folder: Path) -> None:
    (folder / "log").write_text("live\n")
    execution = start(core, "/shell tail -f ./log", folder)
    wait_until(lambda: texts(core.view) == ["live"])
    assert (execution.state, core.running, core.view.footer) == ("running", execution, "status: running")
    assert execution.elapsed > 0
    assert repr(execution) == "<ShellExecution 'tail -f ./log' running>"
    with (folder / "log").open("a") as log:
        log.write("more\n")
    wait_until(lambda: texts(core.view) == ["live", "more"])
    assert core.cancel()
    assert execution.wait(60)
    assert execution.result is not None
    assert (execution.result.status_code, execution.result.signal) == (None, "SIGTERM")
    assert re.fullmatch(r"shell: exit=-1 \d+ms \(cancelled\) stdout=live\\nmore", execution.feedback.text)
    assert execution.feedback.status == "Error"
    assert not core.cancel()


def test_cancelling_ends_the_whole_tree_also_what_is_deaf(make_core: MakeCore, folder: Path) -> None:
    core = make_core(grace=0.1)
    script(folder, "deaf", DEAF)
    script(folder, "tree", "#!/bin/sh\nsetsid ./deaf & echo $!\n./deaf\n")
    execution = start(core, "/shell ./tree", folder)
    wait_until(lambda: texts(core.view).count("deaf") == 2)
    pid = int(next(text for text in texts(core.view) if text.isdigit()))
    execution.cancel()
    assert execution.wait(60)
    assert not exists(pid)


def test_a_second_cancel_ends_the_patience(make_core: MakeCore, folder: Path) -> None:
    core = make_core(grace=600)
    script(folder, "deaf", DEAF)
    execution = start(core, "/shell ./deaf", folder)
    wait_until(lambda: texts(core.view) == ["deaf"])
    core.cancel()
    core.cancel()
    assert execution.wait(60)
    assert execution.result is not None
    assert execution.result.signal == "SIGKILL"


def test_its_time_runs_out(make_core: MakeCore, folder: Path) -> None:
    out = run(make_core(timeout=0.2), "/shell sleep 600", folder)
    assert (out.status_code, out.cause, out.feedback.status) == (None, "timeout", "Error")
    assert "(timed out)" in out.summary


def test_a_hundred_commands_run_in_their_order(core: SlashCore, folder: Path) -> None:
    script(folder, "note", '#!/bin/sh\necho "$1" >> log\n')
    waiting = [start(core, f"/shell ./note {number}", folder) for number in range(100)]
    assert waiting[50].feedback.status == "Info"
    assert all(execution.wait(100) for execution in waiting)
    assert (folder / "log").read_text().split() == [str(number) for number in range(100)]
    assert core.waiting == ()


def test_what_waits_can_be_cancelled_and_never_starts(core: SlashCore, folder: Path) -> None:
    first = start(core, "/shell sleep 600", folder)
    second = start(core, "/shell touch ./second", folder)
    third = start(core, "/shell touch ./third", folder)
    assert second.feedback == SlashFeedback("shell: queued, 1 before it", "Info")
    wait_until(lambda: core.running is first)
    second.cancel()
    assert (second.done, second.elapsed) == (True, 0)
    assert core.waiting == (third,)
    first.cancel()
    assert third.wait(60)
    assert second.feedback == SlashFeedback("shell: cancelled before it was started", "Warn")
    assert second.result is None
    assert [path.name for path in folder.iterdir()] == ["third"]


def test_too_many_may_not_wait(core: SlashCore, folder: Path) -> None:
    first = start(core, "/shell sleep 600", folder)
    wait_until(lambda: core.running is first)
    for _ in range(MOST_WAITING - 1):
        start(core, "/shell true", folder)
    assert "wait already" in refused(core, "/shell true", folder).text


def test_closing_ends_what_runs_and_drops_what_waits(make_core: MakeCore, folder: Path) -> None:
    core = make_core(grace=0.1)
    script(folder, "deaf", DEAF)
    first = start(core, "/shell ./deaf", folder)
    second = start(core, "/shell touch ./made", folder)
    wait_until(lambda: texts(core.view) == ["deaf"])
    core.close()
    core.close()
    assert (first.done, second.done) == (True, True)
    assert not (folder / "made").exists()
    assert refused(core, "/shell true", folder).text.startswith("shell: this program is ending")


def test_closing_at_any_moment_leaves_nothing(make_core: MakeCore, folder: Path) -> None:
    for number in range(20):
        core = make_core()
        executions = [start(core, "/shell sleep 600", folder) for _ in range(number % 3)]
        core.close()
        assert all(execution.done for execution in executions)


def test_an_impatient_person_ends_the_patience_of_closing(folder: Path, nothing_left: str) -> None:
    script(folder, "deaf", DEAF)
    name, _, value = nothing_left.partition("=")
    code = f"""
import os, signal, time
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.core import MOST_WAITING
core = SlashCore(ShellPermission(True, env={{{name!r}: {value!r}, "PATH": os.environ["PATH"]}}), grace=600)
execution = core.submit("/shell ./deaf", {str(folder)!r}).execution
while not len(core.view): time.sleep(0.001)
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    core.close()
except KeyboardInterrupt:
    print(execution.done, execution.result.signal)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout == "True SIGKILL\n"


def test_the_interface_is_notified_of_each_change(make_core: MakeCore, folder: Path) -> None:
    told: list[tuple[str, str]] = []
    core = make_core(on_change=lambda one: told.append((one.request.line, one.state)))
    run(core, "/shell true", folder)
    wait_until(lambda: len(told) == 2)
    assert told == [("true", "running"), ("true", "ended")]


def test_a_mistake_of_the_interface_harms_no_command(
    make_core: MakeCore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: seen.append(str(error)))
    cores: list[SlashCore] = []

    def close(_execution: ShellExecution) -> None:
        cores[0].close()

    cores.append(make_core(on_change=close))
    assert run(cores[0], "/shell echo hi", folder).stdout == "hi\n"
    assert run(cores[0], "/shell echo hi", folder).stdout == "hi\n"
    assert "must not close its own core" in seen[0]


def test_a_folder_that_vanishes_is_reported(core: SlashCore, folder: Path) -> None:
    gone = folder / "gone"
    assert "no working dir" in refused(core, "/shell ls", gone).text
    gone.mkdir()
    first = start(core, "/shell sleep 600", folder)
    late = start(core, "/shell ls", gone)
    gone.rmdir()
    first.cancel()
    assert late.wait(60)
    assert late.result is None
    assert "no working dir" in late.feedback.text


def test_s08_paths_are_checked_again_when_the_turn_comes(core: SlashCore, folder: Path) -> None:
    """A command that ran meanwhile may have made a link that leads out."""
    (folder.parent / "secret").write_text("secret")
    (folder / "file").write_text("mine")
    first = start(core, "/shell sleep 600", folder)
    late = start(core, "/shell cat file", folder)
    (folder / "file").unlink()
    (folder / "file").symlink_to("../secret")
    first.cancel()
    assert late.wait(60)
    assert late.result is None
    assert late.feedback.text == "shell: path escapes working dir: file"


def test_the_policy_is_asked_and_its_answer_counts(make_core: MakeCore, folder: Path) -> None:
    asked: list[Request] = []
    answers = ["no", "once", "session"]

    def approver(request: Request) -> str:
        asked.append(request)
        return answers[len(asked) - 1]

    rules = [Rule(["touch"], "ask"), Rule(["rm"], "deny", reason="it removes")]
    core = make_core(gate=Gate(Policy(rules), approver=approver))
    told = refused(core, "/shell touch ./a", folder)
    assert (told.status, (folder / "a").exists()) == ("Warn", False)
    assert "the answer was no" in told.text
    for _ in range(3):
        run(core, "/shell touch ./a", folder)
    assert [request.command for request in asked] == [("touch", "./a")] * 3
    assert asked[0].cwd == str(folder)
    denied = refused(core, "/shell rm ./a", folder)
    assert (denied.status, "it removes" in denied.text, (folder / "a").exists()) == ("Error", True, True)


def test_without_rules_only_harm_to_ourselves_is_denied(core: SlashCore, folder: Path) -> None:
    told = refused(core, f"/shell kill {os.getpid()}", folder)
    assert (told.status, told.text.startswith("shell: the policy denies this command")) == ("Error", True)


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), 9)", "sys.exit()", "os._exit(0)", "raise SystemExit(3)"]
)
def test_nothing_outlives_a_program_that_does_not_close(folder: Path, nothing_left: str, end: str) -> None:
    """The fixture sees whatever would be left."""
    script(folder, "deaf", DEAF)
    name, _, value = nothing_left.partition("=")
    code = f"""
import os, sys, time
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.core import MOST_WAITING
core = SlashCore(ShellPermission(True, env={{{name!r}: {value!r}, "PATH": os.environ["PATH"]}}))
core.submit("/shell ./deaf", {str(folder)!r})
core.submit("/shell touch made", {str(folder)!r})
while not len(core.view): time.sleep(0.001)
{end}
"""
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    wait_until(lambda: not processes_marked(nothing_left))
    assert not (folder / "made").exists()


def test_a_lack_of_resources_is_reported_and_passes(folder: Path) -> None:
    code = f"""
import os, resource
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.core import MOST_WAITING
def run():
    execution = core.submit("/shell echo hi", {str(folder)!r}).execution
    assert execution.wait(60)
    print(execution.feedback.status, execution.feedback.text)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
with SlashCore(ShellPermission(True, env=dict(os.environ))) as core:
    for more in (0, 2, 4, 6, 8):
        used = len(os.listdir("/proc/self/fd")) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))
        run()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    run()
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    lines = out.stdout.splitlines()
    assert (len(lines), out.stderr) == (6, "")
    assert lines[0].startswith("Error shell: ")
    assert lines[-1].startswith("Success shell: exit=0 ")


def test_a_slow_approval_does_not_block_others(make_core: MakeCore, folder: Path) -> None:
    answer = threading.Event()

    def approver(_request: Request) -> str:
        assert answer.wait(60)
        return "once"

    core = make_core(gate=Gate(Policy([Rule(["touch"], "ask")]), approver=approver))
    waiting = threading.Thread(target=lambda: core.submit("/shell touch ./a", str(folder)))
    waiting.start()
    assert run(core, "/shell echo hi", folder).stdout == "hi\n"
    answer.set()
    waiting.join()
    wait_until((folder / "a").exists)


def test_a_sandbox_confines_it(make_core: MakeCore, folder: Path) -> None:
    script(folder, "both", "#!/bin/sh\ntouch ../outside\ntouch inside\n")
    core = make_core(sandbox=Profile("workspace-write"))
    out = start(core, "/shell ./both", folder)
    assert out.wait(60)
    if out.result is None:
        pytest.skip(out.feedback.text)
    assert ((folder / "inside").exists(), (folder.parent / "outside").exists()) == (True, False)


def test_a_flood_is_bounded_and_its_end_is_kept(core: SlashCore, folder: Path) -> None:
    (folder / "flood.py").write_text(
        "import sys\nfor n in range(100000): sys.stdout.write('%06d ' % n + 'x' * 500 + '\\n')"
    )
    out = run(core, "/shell python3 -IS flood.py", folder)
    lines = core.view.snapshot()
    assert lines.last == 100_000
    assert lines.lines[-1].text.startswith("099999 ")
    assert len(lines.lines) == 4000
    assert len(out.stdout) <= 2_097_152


def test_binary_output_harms_nothing(core: SlashCore, folder: Path) -> None:
    (folder / "blob").write_bytes(bytes(range(256)) * 100)
    out = start(core, "/shell cat blob", folder)
    assert out.wait(60)
    assert out.feedback.text.isprintable()
    assert all(text.isprintable() for text in texts(core.view) if "\xa0" not in text)


def test_it_has_no_input(core: SlashCore, folder: Path) -> None:
    assert run(core, "/shell cat", folder).stdout == ""


def test_s41_no_profile_of_a_system_or_a_user_chooses_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the contract has crossed out stays out: one default, whoever runs it on whichever Unix."""
    monkeypatch.setenv("SHELL", "/bin/zsh")
    for platform in ("linux", "darwin", "freebsd14"):
        assert AllowedShell.default(platform) == AllowedShell("/bin/sh")
