// What the page knows of the server: jobs kept up to date by the stream of events, sessions and approvals; one connection loop.
import { useEffect, useState } from "preact/hooks";
import { type Approval, type Event, Failure, type Info, type Job, type Session, allowed, backoff, call, follow, get, segment, token } from "./api";

export type Link = "connecting" | "up" | "down" | "denied";

interface State {
  link: Link;
  why: string;
  /** The moment of the next attempt to connect, in ms since the epoch. */
  retryAt: number;
  /** True after the server was replaced by another while the page was open. */
  replaced: boolean;
  info: Info | null;
  jobs: Job[];
  loaded: boolean;
  truncated: boolean;
  sessions: Session[] | null;
  approvals: Approval[] | null;
  events: Event[];
}

export const state: State = {
  link: "connecting",
  why: "",
  retryAt: 0,
  replaced: false,
  info: null,
  jobs: [],
  loaded: false,
  truncated: false,
  sessions: null,
  approvals: null,
  events: [],
};

const MOST_JOBS = 5000;
const MOST_EVENTS = 2000;
const LOOK = 1500; // ms between looks at sessions and approvals, which have no event of their own
const RELIST = 120_000; // deleted jobs have no event

const listeners = new Set<() => void>();
let planned = false;
let version = 0;

function changed(): void {
  version++;
  if (planned) return;
  planned = true;
  setTimeout(() => {
    planned = false;
    for (const one of [...listeners]) one();
  }, 30);
}

/** Have a component drawn again whenever what is known changes. */
export function useLive(): State {
  const [drawn, draw] = useState(version);
  useEffect(() => {
    const listener = () => draw(version);
    listeners.add(listener);
    if (drawn !== version) listener(); // it changed between the first drawing and now
    return () => void listeners.delete(listener);
  }, []);
  return state;
}

/** Return the current time, renewed each second, so that ages move. */
export function useNow(every = 1000): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

const index = new Map<string, Job>();

function put(job: Job): void {
  const known = index.get(job.job_id);
  if (known) Object.assign(known, job);
  else {
    index.set(job.job_id, job);
    state.jobs.unshift(job);
    if (state.jobs.length > 1 && state.jobs[1]!.job_id > job.job_id) sort();
  }
}

const sort = () => state.jobs.sort((a, b) => (a.job_id < b.job_id ? 1 : -1));

function note(event: Event): void {
  state.events.push(event);
  if (state.events.length > MOST_EVENTS) state.events.splice(0, state.events.length - MOST_EVENTS);
}

function apply(event: Event): void {
  note(event);
  const id = event.job_id;
  if (!id) return;
  if (event.kind === "created") {
    put({
      job_id: id,
      short_job_id: id.slice(-8),
      state: "created",
      command: event.command ?? [],
      cwd: event.cwd ?? "",
      tags: event.tags ?? [],
      created_at: event.time,
    });
    return;
  }
  const job = index.get(id);
  if (!job) return;
  if (event.kind === "started") {
    Object.assign(job, { state: "running", started_at: event.time, finished_at: undefined, exit_code: undefined, signal: undefined });
  } else if (event.kind === "ended" || event.kind === "lost") {
    Object.assign(job, {
      state: event.state ?? "failed",
      exit_code: event.exit_code,
      signal: event.signal,
      reason: event.reason,
      finished_at: event.time,
    });
  }
}

export async function relist(signal?: AbortSignal): Promise<void> {
  const found = await get<{ jobs: Job[]; truncated: boolean }>("/v1/jobs", { limit: MOST_JOBS }, signal);
  index.clear();
  for (const job of found.jobs) index.set(job.job_id, job);
  state.jobs = found.jobs;
  sort();
  state.truncated = found.truncated;
  state.loaded = true;
  changed();
}

export function forget(id: string): void {
  index.delete(id);
  state.jobs = state.jobs.filter((job) => job.job_id !== id);
  changed();
}

let wake: () => void = () => {};
let stop = new AbortController();

/** Try to connect now, instead of at the end of the wait. */
export function retry(): void {
  wake();
}

async function recentEvents(signal: AbortSignal): Promise<string> {
  let since: string | undefined;
  const found: Event[] = [];
  for (;;) {
    const page = await get<{ events: Event[]; cursor: string; more: boolean }>("/v1/events", { since, limit: 2000 }, signal);
    found.push(...page.events);
    if (found.length > MOST_EVENTS) found.splice(0, found.length - MOST_EVENTS);
    since = page.cursor;
    if (!page.more) break;
  }
  state.events = [...found, ...state.events.filter((event) => event.line !== undefined)];
  return since;
}

/** Follow the one job that the token is for. */
async function connectedToJob(id: string, signal: AbortSignal, reached: () => void): Promise<void> {
  const { cursor } = await get<{ cursor: string }>("/v1/events", { job: id, since: "now" }, signal);
  put(await get<Job>(`/v1/jobs/${segment(id)}`, {}, signal));
  state.link = "up";
  state.loaded = true;
  reached();
  changed();
  for await (const sent of follow("/v1/events", { job: id }, cursor, signal)) {
    apply(sent.data as Event);
    changed();
  }
}

async function connected(signal: AbortSignal, reached: () => void): Promise<void> {
  const { job } = allowed();
  if (job) return connectedToJob(job, signal, reached);
  const info = await get<Info>("/v1/info", {}, signal);
  state.replaced = state.info !== null && state.info.pid !== info.pid;
  state.info = info;
  const cursor = await recentEvents(signal);
  await relist(signal); // after the cursor: what happens in between is applied again, to the same effect
  state.link = "up";
  state.why = "";
  reached();
  changed();
  const poll = setInterval(() => void relist(signal).catch(() => {}), RELIST);
  const ended = new AbortController();
  const both = AbortSignal.any([signal, ended.signal]);
  void look(both);
  try {
    for await (const sent of follow("/v1/events", {}, cursor, signal)) {
      if (sent.event === "error") throw new Failure(500, "stream", (sent.data as { detail?: string }).detail ?? "");
      if (sent.event === "gap") await relist(signal);
      apply(sent.data as Event);
      changed();
    }
  } finally {
    clearInterval(poll);
    ended.abort();
  }
}

let soon: () => void = () => {};

/** Look at sessions and approvals at once. */
export function lookNow(): void {
  soon();
}

async function look(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      state.sessions = (await get<{ sessions: Session[] }>("/v1/sessions", {}, signal)).sessions;
      if (!present) state.approvals = (await get<{ approvals: Approval[] }>("/v1/approvals", {}, signal)).approvals;
      changed();
    } catch {
      // The stream of events notices that the server is gone, and says so.
    }
    await new Promise<void>((done) => {
      const timer = setTimeout(done, LOOK);
      soon = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}

let present = false;

/** Follow the approval inbox, also while the page is hidden: as long as it is followed, agents may ask a person.

 One page of a browser does, where browsers can agree on one, since they have few connections to a server.
 */
export async function followApprovals(): Promise<void> {
  if (allowed().job) return;
  if ("locks" in navigator) await navigator.locks.request("agent-exec.approvals", followInbox);
  else await followInbox();
}

async function followInbox(): Promise<void> {
  const never = new AbortController().signal;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const sent of follow("/v1/approvals", {}, undefined, never, () => begin())) {
        attempt = 0;
        if (sent.event === "approval.asked" || sent.event === "approval.answered") noteApproval(sent.event, sent.data as Approval & Answered);
        changed();
      }
    } catch {
      // It is tried again below; the other connection says why.
    }
    present = false;
    while (state.link === "denied") await new Promise((done) => setTimeout(done, 1000));
    await new Promise((done) => setTimeout(done, backoff(attempt)));
  }
}

interface Answered {
  answer?: string;
  by?: string | null;
}

const asked = new Map<string, string>();

function noteApproval(kind: string, told: Approval & Answered): void {
  const rest = (state.approvals ?? []).filter((one) => one.id !== told.id);
  state.approvals = kind === "approval.asked" ? [...rest, told] : rest;
  const id = `${told.id}.${kind}`;
  if (asked.has(id)) return; // it waited before, too
  asked.set(id, told.command);
  const message = kind === "approval.asked" ? told.reason : `${told.answer} by ${told.by ?? "the end of its server"}`;
  note({ id, kind, time: told.asked_at ?? new Date().toISOString(), line: told.command ?? asked.get(`${told.id}.approval.asked`) ?? "", message });
}

function begin(): void {
  present = true;
  state.approvals = [];
  changed();
}


/** Keep the page connected as long as it is seen; a hidden page holds no connection. */
export async function keepConnected(): Promise<never> {
  let attempt = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop.abort();
    else wake();
  });
  addEventListener("online", () => wake());
  for (;;) {
    stop = new AbortController();
    try {
      if (!token()) throw new Failure(401, "unauthorized", "");
      if (!document.hidden) await connected(stop.signal, () => (attempt = 0));
      if (state.link === "up") state.link = "connecting"; // the stream has ended: look at once whether the server has, too
    } catch (error) {
      const denied = error instanceof Failure && (error.status === 401 || error.status === 403);
      if (!stop.signal.aborted || denied) {
        state.link = denied ? "denied" : "down";
        state.why = error instanceof Error ? error.message : String(error);
      }
      attempt++;
    }
    const wait = state.link === "denied" || document.hidden ? 2 ** 31 - 1 : attempt ? backoff(attempt - 1) : 0;
    state.retryAt = Date.now() + wait;
    changed();
    await new Promise<void>((done) => {
      const timer = setTimeout(done, wait);
      wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}

export async function answer(approval: Approval, how: string): Promise<void> {
  await call("POST", `/v1/approvals/${segment(approval.id)}`, { answer: how });
  state.approvals = (state.approvals ?? []).filter((one) => one.id !== approval.id);
  changed();
  lookNow();
}
