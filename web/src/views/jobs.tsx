// All jobs, the newest first; only the rows that are seen are drawn.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Job } from "../api";
import { commandText, failed } from "../format";
import { useKeys } from "../keys";
import { useLive, useNow } from "../live";
import { Choice, Empty, JobRow, VirtualList, go, jobPath, useCursor } from "../parts";

const STATES = [
  ["all", "All"],
  ["running", "Running"],
  ["failed", "Failed"],
  ["ok", "Succeeded"],
  ["created", "Not started"],
] as const;

function inState(job: Job, state: string): boolean {
  if (state === "running" || state === "created") return job.state === state;
  if (state === "failed") return failed(job) || job.state === "killed";
  if (state === "ok") return job.state === "exited" && job.exit_code === 0;
  return true;
}

/** True if every word of a filter is found in a job: its command, id, tags or folder. */
function holds(job: Job, words: string[]): boolean {
  const text = `${commandText(job.command)} ${job.job_id} ${job.tags.join(" ")} ${job.cwd}`.toLowerCase();
  return words.every((word) => (word.startsWith("tag:") ? job.tags.includes(word.slice(4)) : text.includes(word)));
}

export function Jobs({ given }: { given: string }): JSX.Element {
  const { jobs, loaded, truncated } = useLive();
  const now = useNow(5000);
  const [state, setState] = useState(given.startsWith("state:") ? given.slice(6) : "all");
  const [filter, setFilter] = useState(given.startsWith("state:") ? "" : given);
  const input = useRef<HTMLInputElement>(null);
  const words = useMemo(() => filter.toLowerCase().split(/\s+/).filter(Boolean), [filter]);
  const found = jobs.filter((job) => inState(job, state) && holds(job, words));
  const [at] = useCursor(found.length, (index) => found[index] && go(jobPath(found[index])));
  useKeys({ "/": { label: "filter", act: () => input.current?.focus() } });
  const narrow = innerWidth < 720;
  return (
    <div class="view jobs">
      <div class="bar">
        <input ref={input} type="search" placeholder="Filter by command, tag:name, folder, id" aria-label="Filter" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <Choice label="State" options={STATES} value={state} set={setState} />
        <span class="muted total">
          {found.length === jobs.length ? jobs.length : `${found.length} of ${jobs.length}`}
          {truncated ? "+" : ""} jobs
        </span>
      </div>
      {found.length > 0 && (
        <VirtualList label="Jobs" count={found.length} height={narrow ? 54 : 34} at={at} row={(index) => <JobRow job={found[index]!} now={now} selected={index === at} />} />
      )}
      {loaded && !jobs.length && (
        <Empty title="There are no jobs yet.">
          <a href="#/run">Run a command</a> as a job, or start one with <code>agent-exec run -- make</code> in a workspace of this server.
        </Empty>
      )}
      {loaded && jobs.length > 0 && !found.length && <Empty title="No job matches.">Clear the filter, or choose another state.</Empty>}
    </div>
  );
}
