"""What a caller writes, with every annotation: checked by mypy --strict, as a stranger's code is."""

import agent_exec
from agent_exec import (
    AgentExecError,
    Approval,
    Approver,
    Cancel,
    Cause,
    Command,
    Engine,
    HeadTail,
    Keep,
    Leftovers,
    Limits,
    Outcome,
    Plan,
    Policy,
    Profile,
    Request,
    Rule,
    Run,
    Stream,
    Verdict,
)
from agent_exec.executor import CommandExecutionResult, CommandExecutor, CommandExecutorConfig, OnLimit
from agent_exec.jobs import Answer, Jobs, open_jobs
from agent_exec.sessions import Result, SessionTools, open_tools
from agent_exec.toolkit import Applied, Tool, Toolkit, WriteScope, apply_patch, create_agent_toolkit


def approve(request: Request) -> Approval:
    """Allow what only reads."""
    return "once" if request.command[:1] == ("ls",) else "no"


def note(stream: Stream, chunk: bytes) -> None:
    """Print output as it comes."""
    print(stream, len(chunk))


def runs(leftovers: Leftovers = "kill") -> Cause | None:
    """Run a command in three ways."""
    keep: Keep = HeadTail(1 << 16)
    outcome: Outcome = agent_exec.run(["true"], keep=keep, leftovers=leftovers, on_output=note)
    with Engine() as engine:
        run: Run = engine.start(Command(["true"], limits=Limits(timeout=30, overflow="stop")))
        run.stop()
        outcome = run.outcome()
    return outcome.cause


async def awaits(profile: Profile) -> Outcome:
    """Run a command in a sandbox, and await it."""
    try:
        return await agent_exec.arun(["make"], sandbox=profile)
    except agent_exec.SandboxUnavailable as error:
        failure: AgentExecError = error
        raise failure from None


def rules() -> Verdict:
    """Judge a command."""
    policy = Policy([Rule(["ls"], "allow")])
    return policy.judge(["ls"])


async def contracts(folder: str, limit: OnLimit, scope: WriteScope) -> tuple[Answer, Result]:
    """Use each of the contracts."""
    approver: Approver = approve
    jobs: Jobs = open_jobs(folder, approver=approver)
    answer: Answer = await jobs.await_end(jobs.run(["make"], observe=0)["job_id"])
    kit: Toolkit = create_agent_toolkit(folder, write_scope=scope, tools=[agent_exec.toolkit.APPLY_PATCH])
    tool: Tool = agent_exec.toolkit.APPLY_PATCH
    kit.invoke(tool.name, {"cwd": ".", "input": ""}, Cancel())
    applied: Applied = apply_patch("*** Begin Patch\n*** End Patch", cwd=folder)
    executor = CommandExecutor(None, CommandExecutorConfig(on_limit=limit))
    result: CommandExecutionResult = await executor.execute_command_async("echo", [applied.text])
    plan: Plan = agent_exec.warm(Profile("read-only"))
    agent_exec.run([result.output], sandbox=plan)
    with open_tools(approval_policy="never") as tools:
        sessions: SessionTools = tools
        return answer, await sessions.acall("list_sessions", {})
