// What runs now: questions that wait, sessions as live tiles, running jobs with their last line, failures of the last day.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Session, get, segment, sessionId } from "../api";
import { duration, failed } from "../format";
import { useKeys } from "../keys";
import { answer, useLive, useNow } from "../live";
import { Badge, Empty, JobRow, Question, Section, go, jobPath, useCursor } from "../parts";
import { plain } from "../sgr";
import { LiveTerminal, type Seen } from "../terminal";

const DAY = 86_400_000;
const MOST_TILES = 8;
const MOST_TAILS = 12;
const MOST_ROWS = 50;

const sessionPath = (one: Session): string => `/sessions/${segment(sessionId(one))}`;

function Tile({ session, selected, live }: { session: Session; selected: boolean; live: boolean }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<Seen | null>(null);
  useEffect(() => {
    if (!live) return;
    const terminal = new LiveTerminal(sessionId(session), host.current!, { small: true, onChange: (now) => setSeen({ ...now }) });
    return () => terminal.dispose();
  }, [sessionId(session), live]);
  const writer = seen?.writer ?? session.writer;
  return (
    <a class={selected ? "tile selected" : "tile"} href={`#${sessionPath(session)}`}>
      <div class="screen" ref={host}>
        {seen?.link === "failed" && <p class="veil">{seen.message}</p>}
      </div>
      <div class="caption">
        <code class="command">{session.cmd}</code>
        {session.server && <span class="muted">{session.client || session.kind}</span>}
        {writer && <Badge tone="warn">a person types</Badge>}
        <span class="age">{duration(session.age_seconds * 1000)}</span>
      </div>
    </a>
  );
}

/** Return the last line of each running job, looked at now and then. */
function useLastLines(ids: string[]): Record<string, string> {
  const [lines, set] = useState<Record<string, string>>({});
  const wanted = ids.slice(0, MOST_TAILS).join(" ");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const look = async () => {
      for (const id of wanted.split(" ").filter(Boolean)) {
        const found = await get<{ merged: { text: string }[] }>(
          `/v1/jobs/${segment(id)}/tail`,
          { merged: true, tail_lines: 1, max_bytes: 2000 },
          stop.signal,
        ).catch(() => null);
        if (stop.signal.aborted) return;
        const text = found?.merged.at(-1)?.text.trimEnd() ?? "";
        set((known) => ({ ...known, [id]: plain(text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1)) }));
      }
      timer = window.setTimeout(() => void look(), 2000);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [wanted]);
  return lines;
}

export function Home(): JSX.Element {
  const { jobs, sessions, approvals, loaded } = useLive();
  const now = useNow();
  const running = jobs.filter((job) => job.state === "running");
  const failures = jobs.filter((job) => failed(job) && now - Date.parse(job.finished_at ?? job.created_at) < DAY);
  const live = (sessions ?? []).filter((one) => one.running !== false);
  const lines = useLastLines(running.map((job) => job.job_id));
  const waiting = approvals ?? [];
  const paths = [
    ...waiting.map(() => ""),
    ...live.map(sessionPath),
    ...running.slice(0, MOST_ROWS).map(jobPath),
    ...failures.slice(0, MOST_ROWS).map(jobPath),
  ];
  const [at] = useCursor(paths.length, (index) => paths[index] && go(paths[index]));
  const first = waiting.length;
  useEffect(() => {
    document.querySelector(".home .selected")?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const chosen = waiting[at];
  const keys = Object.fromEntries(
    (chosen?.answers ?? []).map((how, index) => [String(index + 1), { label: `answer: ${how}`, act: () => void answer(chosen!, how).catch(() => {}) }]),
  );
  useKeys(keys);
  const nothing = loaded && !waiting.length && !live.length && !running.length;
  return (
    <div class="view home scrolls">
      {waiting.length > 0 && (
        <Section title="Waiting for you" count={waiting.length}>
          <div class="questions">
            {waiting.map((one, index) => (
              <Question key={one.id} approval={one} selected={index === at} />
            ))}
          </div>
        </Section>
      )}
      {live.length > 0 && (
        <Section title="Sessions" count={live.length}>
          <div class="tiles">
            {live.map((one, index) => (
              <Tile key={sessionId(one)} session={one} selected={first + index === at} live={index < MOST_TILES} />
            ))}
          </div>
        </Section>
      )}
      {running.length > 0 && (
        <Section title="Running" count={running.length}>
          <div class="rows">
            {running.slice(0, MOST_ROWS).map((job, index) => (
              <JobRow key={job.job_id} job={job} now={now} selected={first + live.length + index === at} last={lines[job.job_id]} />
            ))}
          </div>
        </Section>
      )}
      {nothing && (
        <Empty title="Nothing runs.">
          Press <kbd>n</kbd> or <a href="#/run">run a command</a>. Jobs and sessions of your agents appear here as they start.
        </Empty>
      )}
      {failures.length > 0 && (
        <Section title="Failed in the last day" count={failures.length} more={failures.length > MOST_ROWS ? <a href="#/jobs?state:failed">all</a> : undefined}>
          <div class="rows">
            {failures.slice(0, MOST_ROWS).map((job, index) => (
              <JobRow key={job.job_id} job={job} now={now} selected={first + live.length + Math.min(running.length, MOST_ROWS) + index === at} />
            ))}
          </div>
        </Section>
      )}
    </div>
  );
}
