// Parts that several views share.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Approval, Failure, type Job, allowed, segment } from "./api";
import { ago, commandText, duration, relativeFolder, standing, type Tone } from "./format";
import { useKeys } from "./keys";
import { answer, state, useNow } from "./live";

export const go = (path: string): void => {
  location.hash = path;
};
export const jobPath = (job: Pick<Job, "job_id">): string => `/jobs/${segment(job.job_id)}`;

export function Dot({ tone }: { tone: Tone }): JSX.Element {
  return <i class={`dot ${tone}`} aria-hidden="true" />;
}

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Trouble({ error }: { error: unknown }): JSX.Element | null {
  if (!error) return null;
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div class="trouble" role="alert">
      <strong>{error instanceof Failure ? error.code.replaceAll("_", " ") : "error"}</strong> {text}
    </div>
  );
}

export function Section({ title, count, children, more }: { title: string; count?: number; children: ComponentChildren; more?: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h2>
        {title}
        {count !== undefined && <span class="count">{count}</span>}
        {more && <span class="more">{more}</span>}
      </h2>
      {children}
    </section>
  );
}

/** Return an action that is carried out once at a time, whether it is under way, and what went wrong the last time. */
export function useAction<A extends unknown[]>(act: (...given: A) => Promise<unknown>): [(...given: A) => void, boolean, unknown] {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const perform = (...given: A) => {
    if (busy) return;
    setBusy(true);
    setError(null);
    act(...given)
      .catch(setError)
      .finally(() => setBusy(false));
  };
  return [perform, busy, error];
}

/** Return what a button does that asks once more: armed by the first press, carried out by the second, soon after it. */
export function useSure(act: () => void): [boolean, () => void] {
  const [armed, draw] = useState(false);
  const timer = useRef(0);
  const arm = (wanted: boolean) => {
    clearTimeout(timer.current);
    timer.current = wanted ? window.setTimeout(() => arm(false), 4000) : 0;
    draw(wanted);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const press = () => {
    const again = timer.current !== 0;
    arm(!again);
    if (again) act();
  };
  return [armed, press];
}

/** Return a selected position in a list, moved by j and k, opened by Enter. */
export function useCursor(count: number, open: (at: number) => void): [number, (at: number) => void] {
  const [at, set] = useState(-1);
  const move = (wanted: (at: number) => number) => set((known) => Math.max(0, Math.min(count - 1, wanted(known))));
  useKeys({
    j: { label: "next", act: () => move((known) => known + 1) },
    k: { label: "previous", act: () => move((known) => known - 1) },
    G: { label: "last", act: () => move(() => count - 1) },
    "g g": { label: "first", act: () => move(() => 0) },
    Enter: { label: "open", act: () => at >= 0 && at < count && open(at) },
  });
  return [Math.min(at, count - 1), set];
}

/** A list that draws only the rows that are seen; all rows have one height. */
export function VirtualList({ count, height, at, row, label }: { count: number; height: number; at?: number; row: (index: number) => JSX.Element; label: string }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const [[top, size], set] = useState([0, 800]);
  const measure = () => {
    const found = element.current;
    if (found) set([found.scrollTop, found.clientHeight]);
  };
  useLayoutEffect(() => {
    measure();
    const watching = new ResizeObserver(measure);
    watching.observe(element.current!);
    return () => watching.disconnect();
  }, []);
  useEffect(() => {
    const found = element.current;
    if (!found || at === undefined || at < 0) return;
    if (at * height < found.scrollTop) found.scrollTop = at * height;
    else if ((at + 1) * height > found.scrollTop + found.clientHeight) found.scrollTop = (at + 1) * height - found.clientHeight;
  }, [at]);
  const first = Math.max(0, Math.floor(top / height) - 6);
  const last = Math.min(count, Math.ceil((top + size) / height) + 6);
  const rows = [];
  for (let index = first; index < last; index++) {
    rows.push(
      <div key={index} class="row" style={{ top: `${index * height}px`, height: `${height}px` }} role="listitem">
        {row(index)}
      </div>,
    );
  }
  return (
    <div class="virtual" ref={element} onScroll={measure} role="list" aria-label={label} tabIndex={0}>
      <div style={{ height: `${count * height}px` }}>{rows}</div>
    </div>
  );
}

export function JobRow({ job, now, selected, last }: { job: Job; now: number; selected?: boolean; last?: string | undefined }): JSX.Element {
  const [tone, said] = standing(job);
  const begun = job.started_at ?? job.created_at;
  const took = job.finished_at ? Date.parse(job.finished_at) - Date.parse(begun) : now - Date.parse(begun);
  return (
    <a class={selected ? "job selected" : "job"} href={`#${jobPath(job)}`} title={job.cwd}>
      <Dot tone={tone} />
      <span class="what">
        <code class="command">{commandText(job.command)}</code>
        {last !== undefined && <span class="last">{last || "no output yet"}</span>}
      </span>
      <span class="tags">
        {job.tags.map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      </span>
      <span class="folder">{relativeFolder(job.cwd, state.info?.workspaces ?? [])}</span>
      <span class={`said ${tone}`}>{said}</span>
      <span class="took">{duration(took)}</span>
      <span class="age">{ago(job.created_at, now)}</span>
    </a>
  );
}

const WORDS: Record<string, string> = { once: "Allow once", session: "This session", always: "Always", no: "Deny" };

/** One question that waits for a person. */
export function Question({ approval, selected }: { approval: Approval; selected?: boolean }): JSX.Element {
  const now = useNow();
  const [act, busy, error] = useAction((how: string) => answer(approval, how));
  const left = approval.expires_at ? Date.parse(approval.expires_at) - now : null;
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (selected) element.current?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <article class={selected ? "question selected" : "question"} ref={element} data-approval={approval.id}>
      <pre class="command">{approval.command}</pre>
      <p class="reason">
        {approval.escalated && <Badge tone="warn">without a sandbox</Badge>} {approval.reason}
      </p>
      <dl>
        <dt>rule</dt>
        <dd>{approval.rule ?? "no rule matches"}</dd>
        {approval.cwd && <dt>folder</dt>}
        {approval.cwd && <dd>{approval.cwd}</dd>}
        <dt>asked by</dt>
        <dd>{[approval.server, approval.client].filter(Boolean).join(" · ")}</dd>
        {approval.env_names.length > 0 && <dt>variables</dt>}
        {approval.env_names.length > 0 && <dd>{approval.env_names.join(" ")}</dd>}
        {approval.stdin_preview && <dt>input</dt>}
        {approval.stdin_preview && <dd class="preview">{approval.stdin_preview}</dd>}
        {left !== null && <dt>time left</dt>}
        {left !== null && <dd class={left < 15_000 ? "soon" : ""}>{left > 0 ? `${duration(1000 * Math.ceil(left / 1000))}, then it is denied` : "none"}</dd>}
      </dl>
      {approval.always && (
        <details>
          <summary>What “Always” writes into the rules</summary>
          <pre>{approval.always}</pre>
        </details>
      )}
      <Trouble error={error} />
      <div class="answers">
        {!allowed().answers && <span class="muted">This token cannot answer; use `agent-exec approvals`.</span>}
        {(allowed().answers ? approval.answers : []).map((how, index) => (
          <button type="button" key={how} disabled={busy} data-answer={how} title={how === "session" ? "until the server that asks ends" : undefined} class={how === "no" ? "deny" : how === "once" ? "primary" : ""} onClick={() => act(how)}>
            {WORDS[how] ?? how}
            {selected && <kbd>{index + 1}</kbd>}
          </button>
        ))}
      </div>
    </article>
  );
}

/** A choice of one among few. */
export function Choice({ label, options, value, set }: { label: string; options: readonly (readonly [string, string])[]; value: string; set: (value: string) => void }): JSX.Element {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map(([name, text]) => (
        <button type="button" key={name} role="radio" aria-checked={name === value} onClick={() => set(name)}>
          {text}
        </button>
      ))}
    </div>
  );
}
