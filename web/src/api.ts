// Requests to the server: the token, answers and errors as objects, streams of events read by fetch.

export interface Info {
  version: string;
  pid: number;
  workspaces: string[];
  sandbox: string;
  sandboxes: string[];
  all_jobs: boolean;
  warning: string;
  preview?: string | null;
}

export interface Job {
  job_id: string;
  short_job_id: string;
  state: string;
  command: string[];
  cwd: string;
  tags: string[];
  created_at: string;
  started_at?: string;
  finished_at?: string;
  exit_code?: number | null;
  signal?: string | null;
  reason?: string;
  supervisor?: string;
}

export interface Listening {
  port: number;
  address: string;
}

export interface Status extends Job {
  duration_ms?: number;
  elapsed_ms?: number;
  timed_out?: boolean;
  pid?: number;
  attempt: number;
  attempts: { attempt: number; state: string; exit_code?: number | null }[];
  ready?: boolean;
  ready_when?: string[];
  met?: { for: string; listening?: Listening[] }[];
  ports?: Record<string, number> | { name: string; port: number }[];
  health?: string;
  health_message?: string;
  message?: string;
  note?: string;
  stdout_total_bytes: number;
  stderr_total_bytes: number;
  timeout_ms?: number | null;
}

export interface Session {
  session_id: number | string;
  server?: string;
  id?: string;
  cmd: string;
  workdir: string;
  tty: boolean;
  running: boolean;
  age_seconds: number;
  /** The name of the person who has the keyboard. */
  writer?: string | null;
  /** Of another server: which kind it is, and who its client is. */
  kind?: string;
  client?: string;
}

export const sessionId = (one: Session): string => one.id ?? String(one.session_id);

export interface Approval {
  id: string;
  asked_at: string;
  expires_at?: string | null;
  server?: string;
  client?: string;
  command: string;
  cwd: string | null;
  reason: string;
  rule: string | null;
  answers: string[];
  /** What an "always" would add to the rules. */
  always: string | null;
  escalated: boolean;
  env_names: string[];
  stdin_bytes: number;
  stdin_preview: string;
}

export interface Event {
  id: string;
  kind: string;
  time: string;
  job_id?: string;
  command?: string[];
  cwd?: string;
  tags?: string[];
  state?: string;
  exit_code?: number | null;
  signal?: string;
  reason?: string;
  duration_ms?: number;
  message?: string;
  details?: unknown;
  attempt?: number;
  /** The command of a question, as a line. */
  line?: string;
}

export interface Finding {
  text: string;
  verdict: string;
  reason: string;
  basis: string;
  rule: Record<string, unknown> | null;
}

export interface Verdict extends Finding {
  rules: string | null;
  approval_policy: string;
  doors: Record<string, string>;
  cwd: string;
  commands: Finding[];
  writes: Finding[];
  doubts: Finding[];
}

/** An answer that says what is wrong; `status` 0 if the server could not be reached. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const PLACE = "agent-exec.token";
const QUIET = 45_000; // the server sends a comment every 15 seconds

/** Take the token out of the address, if it is there, and keep it for this browser. */
export function adoptToken(): boolean {
  const found = /^#token=([^&]+)(?:&to=(.*))?$/.exec(location.hash);
  if (!found) return false;
  localStorage.setItem(PLACE, decodeURIComponent(found[1] ?? ""));
  history.replaceState(null, "", `${location.pathname}#${found[2] ? decodeURIComponent(found[2]) : "/"}`);
  return true;
}

export const token = (): string => localStorage.getItem(PLACE) ?? "";

export function keepToken(text: string): void {
  if (text) localStorage.setItem(PLACE, text);
  else localStorage.removeItem(PLACE);
}

export interface Allowed {
  readOnly: boolean;
  /** True if questions can be answered. */
  answers: boolean;
  /** The one job that the token is for; empty for all. */
  job: string;
}

const ALL: Allowed = { readOnly: false, answers: true, job: "" };

/** Return what the token says that it allows; the server decides. */
export function allowed(): Allowed {
  try {
    const [kind, payload = ""] = token().split(".");
    if (kind !== "aex1") return ALL;
    const fields = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as { r?: boolean; j?: string; a?: boolean };
    return { readOnly: !!fields.r, answers: !(fields.r || fields.a || fields.j), job: fields.j ?? "" };
  } catch {
    return ALL;
  }
}

export const segment = (id: string | number): string => encodeURIComponent(String(id));

function query(fields: Record<string, unknown>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) found.append(name, String(one));
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = { Authorization: `Bearer ${token()}`, ...(init.headers as Record<string, string> | undefined) };
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Failure(0, "unreachable", "the server does not answer; start it again with `agent-exec serve`");
  }
  if (answer.ok) return answer;
  const told = (await answer.json().catch(() => ({}))) as { code?: string; detail?: string };
  throw new Failure(answer.status, told.code ?? "unknown", told.detail ?? `the server answered ${answer.status}`);
}

export async function get<T>(path: string, fields: Record<string, unknown> = {}, signal?: AbortSignal): Promise<T> {
  return (await send(path + query(fields), { signal: signal ?? null })).json() as Promise<T>;
}

export async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const given = body ? { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } } : {};
  return (await send(path, { method, ...given })).json() as Promise<T>;
}

export interface Sent<T = unknown> {
  event: string;
  id: string;
  data: T;
}

/** Yield the events of a stream from right behind a cursor; end when the stream does, or when it is silent for too long. */
export async function* follow(
  path: string,
  fields: Record<string, unknown>,
  last: string | undefined,
  signal: AbortSignal,
  opened: () => void = () => {},
): AsyncGenerator<Sent> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (last) headers["Last-Event-ID"] = last;
  const own = new AbortController();
  const abort = () => own.abort();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  let timer = setTimeout(abort, QUIET);
  try {
    const answer = await send(path + query(fields), { headers, signal: own.signal });
    opened();
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(abort, QUIET);
      rest += value;
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const found = parse(block);
        if (found) yield found;
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    own.abort();
  }
}

function parse(block: string): Sent | null {
  const sent = { event: "message", id: "", data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    const name = line.slice(0, at);
    const value = line.slice(at + 1).replace(/^ /, "");
    if (name === "data") sent.data += value;
    else if (name === "event" || name === "id") sent[name] = value;
  }
  return sent.data ? { ...sent, data: JSON.parse(sent.data) as unknown } : null;
}

/** Return milliseconds to wait before the next attempt: doubled each time, up to 8 s, with some chance in it. */
export const backoff = (attempt: number): number => Math.min(8000, 400 * 2 ** attempt) * (0.75 + Math.random() / 2);
