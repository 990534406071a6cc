// One job: what it is, how it stands, and its output as it comes.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, type Listening, type Sent, type Status, allowed, backoff, call, follow, get, segment } from "../api";
import { ago, bytes, clock, commandText, duration, standing } from "../format";
import { useKeys } from "../keys";
import { forget, useLive, useNow } from "../live";
import { Log } from "../log";
import { Badge, Choice, Trouble, go, useAction, useSure } from "../parts";

const FIRST = 1 << 20; // bytes of each stream that are shown at first
const KEPT = 8 << 20; // characters of output that are kept, to be shown in another way
const MODES = [
  ["merged", "Merged"],
  ["stdout", "stdout"],
  ["stderr", "stderr"],
  ["split", "Split"],
] as const;
type Mode = (typeof MODES)[number][0];

interface Piece {
  stream: string;
  text: string;
  offset: number;
  time: string;
}

interface Tail {
  merged: { time?: string; stream: string; text: string }[];
  stdout_range: [number, number];
  stderr_range: [number, number];
  cursor: string;
}

/** The output of a job in one log, or in two side by side; drawn again from its pieces when that changes. */
class Output {
  #pieces: (Piece | string)[] = [];
  #size = 0;
  #mode: Mode = "merged";
  #planned = false;
  logs: Log[] = [];
  #marked: [string, unknown] = ["", null];

  constructor(
    private readonly host: HTMLElement,
    private readonly onFollow: (following: boolean) => void,
  ) {
    this.show("merged");
  }

  show(mode: Mode): void {
    this.#mode = mode;
    this.logs = (mode === "split" ? ["stdout", "stderr"] : ["Output"]).map((label) => new Log(label));
    this.host.replaceChildren(...this.logs.map((log) => log.element));
    this.host.dataset["mode"] = mode;
    for (const log of this.logs) log.onFollow = () => this.onFollow(this.logs.every((one) => one.following));
    for (const piece of this.#pieces) this.#draw(piece);
    this.#settle();
    if (this.#marked[0] === "search") this.search(String(this.#marked[1]));
  }

  #draw(piece: Piece | string): void {
    if (typeof piece === "string") {
      for (const log of this.logs) log.note(piece);
      return;
    }
    const { stream, text, offset, time } = piece;
    if (this.#mode === "split") this.logs[stream === "stdout" ? 0 : 1]?.append(stream, text, offset, time);
    else if (this.#mode === "merged" || this.#mode === stream) this.logs[0]?.append(stream, text, offset, time);
  }

  add(piece: Piece | string): void {
    this.#pieces.push(piece);
    this.#size += typeof piece === "string" ? 0 : piece.text.length;
    while (this.#size > KEPT) {
      const first = this.#pieces.shift();
      if (typeof first === "object") this.#size -= first.text.length;
    }
    this.#draw(piece);
    this.#settle();
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
    this.show(this.#mode);
  }

  #settle(): void {
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => {
      this.#planned = false;
      for (const log of this.logs) log.settle();
    });
  }

  search(text: string): number {
    this.#marked = ["search", text];
    return this.logs.reduce((sum, log) => sum + log.search(text), 0);
  }

  mark(ranges: Record<string, [number, number][]>): number {
    this.#marked = ["", null];
    return this.logs.reduce((sum, log) => sum + log.markRanges(ranges), 0);
  }

  step(by: 1 | -1): void {
    this.logs.find((log) => log.marked)?.step(by);
  }

  end(): void {
    for (const log of this.logs) log.toEnd();
  }

  get empty(): boolean {
    return !this.#pieces.length;
  }
}

/** Read the output of a job into a place, from its end on, and over every cut of the connection. */
async function read(id: string, output: Output, onStatus: (status: Status) => void, onError: (error: unknown) => void, signal: AbortSignal): Promise<void> {
  const path = `/v1/jobs/${segment(id)}`;
  let cursor: string | undefined;
  for (let attempt = 0; !signal.aborted; ) {
    try {
      if (cursor === undefined) {
        onStatus(await get<Status>(path, {}, signal));
        const tail = await get<Tail>(`${path}/tail`, { merged: true, tail_lines: 0, max_bytes: FIRST }, signal);
        const at: Record<string, number> = { stdout: tail.stdout_range[0], stderr: tail.stderr_range[0] };
        const left = tail.stdout_range[0] + tail.stderr_range[0];
        output.clear();
        if (left) output.add(`${bytes(left)} of earlier output are not shown here; agent-exec tail ${id} --view range=0-100000 shows them`);
        for (const { stream, text, time } of tail.merged) {
          output.add({ stream, text, offset: at[stream]!, time: time ?? "" });
          at[stream]! += new TextEncoder().encode(text).length;
        }
        cursor = tail.cursor;
      }
      for await (const sent of follow(`${path}/tail`, {}, cursor, signal)) {
        attempt = 0;
        if (sent.id) cursor = sent.id;
        onError(null);
        if (take(sent, output, onStatus)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      if (error instanceof Failure && error.status && error.status < 500) return;
    }
    await new Promise((done) => setTimeout(done, backoff(attempt++)));
  }
}

/** Show one event of the stream; true if it was the last. */
function take(sent: Sent, output: Output, onStatus: (status: Status) => void): boolean {
  const data = sent.data as { stream: string; text: string; from: number; bytes: number; attempt: number; detail: string };
  if (sent.event === "output") output.add({ stream: data.stream, text: data.text, offset: data.from, time: new Date().toISOString() });
  else if (sent.event === "gap") output.add(`${bytes(data.bytes)} of ${data.stream} are no longer kept`);
  else if (sent.event === "attempt") output.add(`attempt ${data.attempt}`);
  else if (sent.event === "error") throw new Failure(404, "stream ended", data.detail);
  else if (sent.event === "end") {
    onStatus(sent.data as Status);
    return true;
  }
  return false;
}

function portsOf(status: Status): number[] {
  const found = new Set<number>();
  for (const met of status.met ?? []) for (const one of met.listening ?? ([] as Listening[])) found.add(Number(one.port));
  const given = status.ports ?? {};
  for (const one of Array.isArray(given) ? given.map((port) => port.port) : Object.values(given)) found.add(Number(one));
  return [...found].filter((port) => port > 0 && port < 65_536);
}

export function JobView({ id }: { id: string }): JSX.Element {
  const { jobs, info } = useLive();
  const now = useNow();
  const host = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const output = useRef<Output | null>(null);
  const [status, setStatus] = useState<Status | null>(null);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [mode, setMode] = useState<Mode>("merged");
  const current = useRef<Mode>("merged"); // keys may come faster than drawings
  const [times, setTimes] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [following, setFollowing] = useState(true);
  const [text, setText] = useState("");
  const [marked, setMarked] = useState<string>("");
  const [round, setRound] = useState(0);
  const known = jobs.find((job) => job.job_id === id || job.short_job_id === id);
  const path = `/v1/jobs/${segment(id)}`;

  useEffect(() => {
    const stop = new AbortController();
    output.current = new Output(host.current!, setFollowing);
    setStatus(null);
    void read(id, output.current, setStatus, setTrouble, stop.signal);
    return () => stop.abort();
  }, [id, round]);
  const startedAt = known?.started_at;
  useEffect(() => {
    // Started again, here or elsewhere: its stream had ended.
    if (status && startedAt && known.state === "running" && status.state !== "running") setRound((count) => count + 1);
  }, [startedAt, known?.state, status?.state]);

  const shown = { ...(status ?? {}), ...(known ?? {}) } as Status;
  const ready = !!(status ?? known);
  const running = shown.state === "running";
  const [tone, said] = ready ? standing(shown) : (["idle", "…"] as const);
  const [kill, killing, killError] = useAction(async () => {
    await call("POST", `${path}/kill`, {});
    setStatus(await get<Status>(path));
  });
  const [restart, restarting, restartError] = useAction(async () => {
    await call("POST", `${path}/${shown.state === "created" ? "start" : "restart"}`, { observe: 0 });
    setRound((count) => count + 1);
  });
  const [remove, , removeError] = useAction(async () => {
    await call("DELETE", path);
    forget(shown.job_id);
    go("/jobs");
  });
  const search = (wanted: string) => {
    setText(wanted);
    const count = output.current?.search(wanted) ?? 0;
    setMarked(wanted ? `${count} ${count === 1 ? "line" : "lines"}` : "");
    if (count) output.current?.step(1);
  };
  const [faults, , faultError] = useAction(async (by: 1 | -1) => {
    if (!marked.endsWith("errors") && !marked.endsWith("error line")) {
      const found = await get<{ view: { stdout_kept?: [number, number][]; stderr_kept?: [number, number][] } }>(`${path}/tail`, { view: "errors" });
      const count = output.current?.mark({ stdout: found.view.stdout_kept ?? [], stderr: found.view.stderr_kept ?? [] }) ?? 0;
      setText("");
      setMarked(count === 1 ? "1 error line" : `${count} lines of errors`);
    }
    output.current?.step(by);
  });
  const show = (wanted: string) => {
    current.current = wanted as Mode;
    setMode(wanted as Mode);
    setMarked("");
    setText("");
    output.current?.show(wanted as Mode);
  };
  const [killArmed, pressKill] = useSure(kill);
  const [removeArmed, pressRemove] = useSure(remove);
  const [restartArmed, pressRestart] = useSure(restart);
  useKeys({
    "/": { label: "search the output", act: () => input.current?.focus() },
    n: { label: "next match", act: () => output.current?.step(1) },
    N: { label: "previous match", act: () => output.current?.step(-1) },
    e: { label: "next error", act: () => faults(1) },
    E: { label: "previous error", act: () => faults(-1) },
    m: { label: "merged, stdout, stderr, split", act: () => show(MODES[(MODES.findIndex(([name]) => name === current.current) + 1) % MODES.length]![0]) },
    t: { label: "times", act: () => setTimes(!times) },
    w: { label: "wrap lines", act: () => setWrap(!wrap) },
    f: { label: "follow the output", act: () => output.current?.end() },
    x: { label: "kill", act: () => running && pressKill() },
    R: { label: "start again", act: pressRestart },
    Escape: { label: "back to the list", act: () => go("/jobs") },
  });
  const begun = shown.started_at ?? shown.created_at;
  const took = status?.duration_ms ?? (running && begun ? now - Date.parse(begun) : undefined);
  const problem = killError ?? restartError ?? removeError ?? faultError ?? trouble;
  return (
    <div class="view one">
      <header class="about">
        <div class="headline">
          <Badge tone={tone}>{said}</Badge>
          <pre class="command">{ready ? commandText(shown.command) : id}</pre>
          <div class="actions" hidden={allowed().readOnly}>
            <button type="button" disabled={restarting || !ready} onClick={running ? pressRestart : restart}>
              {restartArmed ? "Restart: sure?" : shown.state === "created" ? "Start" : "Restart"}
            </button>
            {running ? (
              <button type="button" class="deny" disabled={killing} onClick={pressKill}>
                {killArmed ? "Kill: sure?" : "Kill"}
              </button>
            ) : (
              <button type="button" disabled={!ready} onClick={pressRemove}>
                {removeArmed ? "Delete with its output?" : "Delete"}
              </button>
            )}
          </div>
        </div>
        {ready && (
          <dl class="facts">
            <Fact name="id" value={shown.short_job_id} title={shown.job_id} />
            <Fact name="folder" value={shown.cwd} />
            <Fact name="started" value={begun ? `${clock(begun)} · ${ago(begun, now)} ago` : "not yet"} />
            <Fact name="finished" value={running ? "" : clock(shown.finished_at)} />
            <Fact name={running ? "runs for" : "took"} value={took === undefined ? "" : duration(took)} />
            <Fact name="attempt" value={(status?.attempt ?? 1) > 1 ? String(status?.attempt) : ""} />
            <Fact name="health" value={status?.health ?? ""} title={status?.health_message ?? ""} />
            <Fact name="ready" value={status?.ready_when?.length ? (status.ready ? "yes" : `waits for ${status.ready_when.join(", ")}`) : ""} />
            <Fact name="note" value={status?.message ?? status?.note ?? ""} />
            {shown.tags?.length > 0 && (
              <div>
                <dt>tags</dt>
                <dd>
                  {shown.tags.map((tag) => (
                    <a class="tag" key={tag} href={`#/jobs?tag:${segment(tag)}`}>
                      {tag}
                    </a>
                  ))}
                </dd>
              </div>
            )}
            {status && running && portsOf(status).length > 0 && (
              <div>
                <dt>ports</dt>
                <dd>
                  {portsOf(status).map((port) => (
                    <a class="port" key={port} target="_blank" rel="noopener noreferrer" href={portLink(info?.preview, shown.job_id, port)}>
                      {port} ↗
                    </a>
                  ))}
                </dd>
              </div>
            )}
          </dl>
        )}
        <Trouble error={problem} />
      </header>
      <div class="bar">
        <input
          ref={input}
          type="search"
          placeholder="Search the output"
          aria-label="Search the output"
          value={text}
          onInput={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && output.current?.step(event.shiftKey ? -1 : 1)}
        />
        <button type="button" class="quiet" aria-label="Previous match" onClick={() => output.current?.step(-1)}>↑</button>
        <button type="button" class="quiet" aria-label="Next match" onClick={() => output.current?.step(1)}>↓</button>
        <button type="button" class="quiet" onClick={() => faults(1)}>
          Errors <kbd>e</kbd>
        </button>
        {marked && <span class="muted">{marked}</span>}
        <span class="gap" />
        <button type="button" class="quiet" aria-pressed={times} onClick={() => setTimes(!times)}>Times</button>
        <button type="button" class="quiet" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>Wrap</button>
        <Choice label="Streams" options={MODES} value={mode} set={show} />
      </div>
      <div class={`output${times ? " times" : ""}${wrap ? " wrap" : ""}`}>
        <div class="logs" ref={host} />
        {!following && (
          <button type="button" class="follow" onClick={() => output.current?.end()}>
            ↓ {running ? "Follow" : "End"}
          </button>
        )}
        {ready && status && status.stdout_total_bytes + status.stderr_total_bytes === 0 && !running && <p class="veil">It printed nothing.</p>}
      </div>
    </div>
  );
}

/** Return where a port of a job is seen: through the server's preview if it has one, else on the same machine. */
function portLink(preview: string | null | undefined, job: string, port: number): string {
  if (preview && /^https?:\/\//.test(preview)) return `${preview.replace(/\/$/, "")}/p/${segment(job)}/${port}/`;
  return `http://${location.hostname}:${port}/`;
}

function Fact({ name, value, title }: { name: string; value: string; title?: string }): JSX.Element | null {
  if (!value) return null;
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
