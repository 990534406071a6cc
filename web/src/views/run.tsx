// The run box: type a command, choose where, how confined, and as what.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Verdict, allowed, call, segment } from "../api";
import { useKeys } from "../keys";
import { lookNow, useLive } from "../live";
import { Choice, Trouble, go, useAction } from "../parts";
import { plain } from "../sgr";
import { Outcome, useVerdict } from "./policy";

const PLACE = "agent-exec.commands";

function recent(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function remember(line: string): void {
  localStorage.setItem(PLACE, JSON.stringify([line, ...recent().filter((one) => one !== line)].slice(0, 12)));
}

interface Started {
  job_id?: string;
  session_id?: number;
  output?: string;
  exit_code?: number | null;
}

export function Run(): JSX.Element {
  const { info, approvals } = useLive();
  const [line, setLine] = useState("");
  const [kind, setKind] = useState("job");
  const [folder, setFolder] = useState("");
  const [sandbox, setSandbox] = useState("");
  const [tags, setTags] = useState("");
  const [done, setDone] = useState<Started | null>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => input.current?.focus(), []);
  const cwd = folder || info?.workspaces[0] || "";
  const [verdict] = useVerdict(line, cwd);
  const [start, busy, error] = useAction(async () => {
    setDone(null);
    if (!line.trim()) return;
    remember(line);
    if (kind === "job") {
      const named = tags.split(/[\s,]+/).filter(Boolean);
      const made = await call<Started>("POST", "/v1/jobs", { line, cwd, observe: 0, tags: named, ...(sandbox ? { sandbox } : {}) });
      go(`/jobs/${segment(made.job_id!)}`);
    } else {
      const made = await call<Started>("POST", "/v1/sessions", { cmd: line, workdir: cwd, tty: true, yield_time_ms: 250 });
      lookNow();
      if (made.session_id !== undefined) go(`/sessions/${segment(made.session_id)}`);
      else setDone(made);
    }
  });
  useKeys({ "/": { label: "the command", act: () => input.current?.focus() }, Escape: { label: "back", act: () => go("/") } });
  const waits = busy && (approvals?.length ?? 0) > 0;
  return (
    <div class="view run scrolls">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <label class="field">
          <span>Command</span>
          <textarea
            ref={input}
            rows={3}
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            placeholder="make test"
            value={line}
            onInput={(event) => setLine(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                event.preventDefault();
                start();
              }
            }}
          />
        </label>
        {line.trim() && verdict && <Preview verdict={verdict} />}
        <div class="fields">
          <div class="field">
            <span>Run as</span>
            <Choice label="Run as" value={kind} set={setKind} options={[["job", "Job"], ["session", "Session"]]} />
            <small>{kind === "job" ? "In the background; it outlives the server." : "In a terminal that you and agents can type into."}</small>
          </div>
          <label class="field">
            <span>Folder</span>
            <input value={folder} placeholder={info?.workspaces[0] ?? ""} list="workspaces" spellcheck={false} onInput={(event) => setFolder(event.currentTarget.value)} />
            <datalist id="workspaces">
              {info?.workspaces.map((one) => (
                <option value={one} key={one} />
              ))}
            </datalist>
          </label>
          {kind === "job" ? (
            <label class="field">
              <span>Sandbox</span>
              <select value={sandbox || info?.sandbox} onChange={(event) => setSandbox(event.currentTarget.value)}>
                {info?.sandboxes.map((one) => (
                  <option value={one} key={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <div class="field">
              <span>Sandbox</span>
              <small>{info?.sandbox}: sessions have the server's own.</small>
            </div>
          )}
          {kind === "job" && (
            <label class="field">
              <span>Tags</span>
              <input value={tags} placeholder="build.linux" spellcheck={false} onInput={(event) => setTags(event.currentTarget.value)} />
            </label>
          )}
        </div>
        <Trouble error={error} />
        <div class="answers">
          <button type="submit" class="primary" disabled={busy || !line.trim() || allowed().readOnly}>
            {busy ? "Starting…" : "Run"} <kbd>Enter</kbd>
          </button>
          {allowed().readOnly && <span class="muted">This token is read-only.</span>}
          {waits && (
            <span class="muted">
              It waits for an approval: <a href="#/">answer it</a>.
            </span>
          )}
        </div>
      </form>
      {done && (
        <section>
          <h2>It ended at once{done.exit_code != null ? ` with exit code ${done.exit_code}` : ""}</h2>
          <pre class="printed">{plain(done.output || "It printed nothing.")}</pre>
        </section>
      )}
      {recent().length > 0 && (
        <section>
          <h2>Recent</h2>
          <div class="rows">
            {recent().map((one) => (
              <button
                type="button"
                class="again"
                key={one}
                onClick={() => {
                  setLine(one);
                  input.current?.focus();
                }}
              >
                <code class="command">{one}</code>
              </button>
            ))}
          </div>
        </section>
      )}
    </div>
  );
}

function Preview({ verdict }: { verdict: Verdict }): JSX.Element {
  return (
    <p class="preview">
      <Outcome verdict={verdict} /> <span class="muted">{verdict.reason}</span>
    </p>
  );
}
