// What has happened to jobs, the newest first, with filters.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Event, type Job, segment } from "../api";
import { clock, commandText, duration, standing, type Tone } from "../format";
import { useKeys } from "../keys";
import { useLive } from "../live";
import { Dot, Empty, VirtualList, go, useCursor } from "../parts";

const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ["started", ["created", "started", "waiting"]],
  ["ended", ["ended", "lost"]],
  ["ready", ["ready", "output-match", "healthy", "unhealthy"]],
  ["retries", ["retrying", "restarting"]],
  ["approvals", ["approval.asked", "approval.answered"]],
];

function toneOf(event: Event): Tone {
  if (event.kind === "ended" || event.kind === "lost") return standing({ state: event.state ?? "failed", exit_code: event.exit_code, signal: event.signal, reason: event.reason })[0];
  if (event.kind === "unhealthy" || event.kind === "gap") return "bad";
  if (event.kind === "retrying" || event.kind === "restarting" || event.kind === "approval.asked") return "warn";
  return event.kind === "started" || event.kind === "ready" || event.kind === "healthy" ? "run" : "idle";
}

function detail(event: Event): string {
  const parts: string[] = [];
  if (event.kind === "ended" || event.kind === "lost")
    parts.push(standing({ state: event.state ?? "failed", exit_code: event.exit_code, signal: event.signal, reason: event.reason })[1]);
  if (event.duration_ms !== undefined) parts.push(`after ${duration(event.duration_ms)}`);
  if (event.attempt) parts.push(`attempt ${event.attempt}`);
  if (event.message) parts.push(event.message);
  if (event.details && event.kind !== "ready") parts.push(JSON.stringify(event.details));
  return parts.join(" · ");
}

export function Events(): JSX.Element {
  const { events, jobs, loaded } = useLive();
  const [filter, setFilter] = useState("");
  const [off, setOff] = useState<readonly string[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const names = useMemo(() => new Map(jobs.map((job: Job) => [job.job_id, commandText(job.command)])), [jobs, jobs.length]);
  const hidden = new Set(GROUPS.filter(([name]) => off.includes(name)).flatMap(([, kinds]) => kinds));
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (event: Event) => event.line ?? (event.job_id ? (names.get(event.job_id) ?? (event.command ? commandText(event.command) : event.job_id)) : "");
  const found = events
    .filter((event) => !hidden.has(event.kind) && words.every((word) => `${event.kind} ${event.job_id ?? ""} ${text(event)} ${detail(event)}`.toLowerCase().includes(word)))
    .reverse();
  const [at] = useCursor(found.length, (index) => found[index]?.job_id && go(`/jobs/${segment(found[index].job_id)}`));
  useKeys({ "/": { label: "filter", act: () => input.current?.focus() } });
  const narrow = innerWidth < 720;
  return (
    <div class="view events">
      <div class="bar">
        <input ref={input} type="search" placeholder="Filter by command, job id, kind" aria-label="Filter" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <div class="choice" role="group" aria-label="Kinds">
          {GROUPS.map(([name]) => (
            <button type="button" key={name} aria-pressed={!off.includes(name)} onClick={() => setOff(off.includes(name) ? off.filter((one) => one !== name) : [...off, name])}>
              {name}
            </button>
          ))}
        </div>
        <span class="muted total">{found.length} events</span>
      </div>
      {found.length > 0 && (
        <VirtualList
          label="Events"
          count={found.length}
          height={narrow ? 50 : 30}
          at={at}
          row={(index) => {
            const event = found[index]!;
            return (
              <a class={index === at ? "event selected" : "event"} href={event.job_id ? `#/jobs/${segment(event.job_id)}` : "#/events"}>
                <time>{clock(event.time)}</time>
                <Dot tone={toneOf(event)} />
                <span class="kind">{event.kind}</span>
                <code class="command">{text(event)}</code>
                <span class="detail">{detail(event)}</span>
              </a>
            );
          }}
        />
      )}
      {loaded && !found.length && <Empty title={events.length ? "No event matches." : "Nothing has happened yet."}>{events.length ? "Clear the filter, or switch kinds on." : "Start a job: its events appear here at once."}</Empty>}
    </div>
  );
}
