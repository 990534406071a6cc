// Values as short texts.
import type { Job } from "./api";

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(Math.floor(seconds % 60)).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** Return how long ago a moment was, in one unit. */
export function ago(moment: string | undefined, now: number): string {
  if (!moment) return "";
  const seconds = Math.max(0, Math.floor((now - Date.parse(moment)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

export function clock(moment: string | undefined): string {
  if (!moment) return "";
  const when = new Date(moment);
  const time = when.toLocaleTimeString([], { hour12: false });
  return when.toDateString() === new Date().toDateString() ? time : `${when.toLocaleDateString()} ${time}`;
}

export function bytes(count: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit++;
  }
  return `${unit && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Return the words of a command as a person would type them; a line for a shell is shown as that line. */
export function commandText(words: readonly string[]): string {
  if (words.length === 3 && /(^|\/)(ba|da|z|k)?sh$/.test(words[0]!) && /^-l?c$/.test(words[1]!)) return words[2]!;
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Return the last two parts of a folder. */
export function shortFolder(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}

/** Return a folder as seen from the workspace that holds it; empty for the workspace itself if it is the only one. */
export function relativeFolder(path: string, workspaces: readonly string[]): string {
  for (const root of workspaces) {
    if (path === root) return workspaces.length > 1 ? shortFolder(path) : "";
    if (path.startsWith(`${root.replace(/\/$/, "")}/`)) return path.slice(root.replace(/\/$/, "").length + 1);
  }
  return shortFolder(path);
}

export type Tone = "run" | "ok" | "bad" | "warn" | "idle";

/** Return how a job stands, in a word or two, and its colour. */
export function standing(job: Pick<Job, "state" | "exit_code" | "signal" | "reason" | "supervisor">): [Tone, string] {
  switch (job.state) {
    case "running":
      return job.supervisor === "lost" ? ["warn", "supervisor lost"] : ["run", "running"];
    case "created":
      return ["idle", "not started"];
    case "exited":
      return job.exit_code === 0 ? ["ok", "exit 0"] : ["bad", `exit ${job.exit_code ?? "?"}`];
    case "killed":
      return ["warn", job.reason === "timed_out" || job.reason === "timeout" ? "timed out" : (job.signal ?? "killed")];
    default:
      return ["bad", (job.reason ?? job.state).replaceAll("_", " ")];
  }
}

export const failed = (job: Job): boolean =>
  job.state === "failed" || (job.state === "exited" && job.exit_code !== 0) || (job.state === "killed" && job.reason !== "killed" && !!job.reason);
