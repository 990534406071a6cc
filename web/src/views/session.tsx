// One session: its live terminal, watched or typed into.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { allowed, call, segment } from "../api";
import { useKeys } from "../keys";
import { lookNow } from "../live";
import { Badge, Trouble, go, useAction, useSure } from "../parts";
import { LiveTerminal, type Seen } from "../terminal";

const BAR: readonly (readonly [string, string])[] = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["Ctrl", ""],
  ["←", "\x1b[D"],
  ["↓", "\x1b[B"],
  ["↑", "\x1b[A"],
  ["→", "\x1b[C"],
  ["^C", "\x03"],
  ["/", "/"],
  ["|", "|"],
  ["-", "-"],
  ["~", "~"],
];

function writerText(seen: Seen): string {
  if (seen.link === "connecting") return "connecting";
  if (seen.link === "lost") return "lost; reconnecting";
  if (seen.link === "ended") return "ended";
  if (seen.writer === "you") return "you type";
  if (seen.writer === "other") return `${seen.writerName || "another person"} types`;
  return "watching";
}

export function SessionView({ id }: { id: string }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const terminal = useRef<LiveTerminal | null>(null);
  const [seen, setSeen] = useState<Seen | null>(null);
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    const made = new LiveTerminal(id, host.current!, {
      onChange: (now) => {
        setSeen({ ...now });
        if (now.writer === "you") setAsked(false);
      },
    });
    terminal.current = made;
    return () => made.dispose();
  }, [id]);
  const [detach, detaching, detachError] = useAction(async () => {
    const made = await call<{ job_id?: string }>("POST", `/v1/sessions/${segment(id)}/detach`, {});
    if (made.job_id) go(`/jobs/${segment(made.job_id)}`);
  });
  const take = () => {
    setAsked(true);
    terminal.current?.take();
  };
  const give = () => terminal.current?.give();
  const [killArmed, kill] = useSure(() => terminal.current?.kill());
  const mine = seen?.writer === "you";
  const live = seen?.link === "live";
  useEffect(() => {
    if (seen?.link === "ended") lookNow();
  }, [seen?.link]);
  useKeys({
    i: { label: "take over the keyboard (F10 hands it back)", act: () => live && seen.tty && take() },
    x: { label: "end the session", act: () => live && kill() },
    Escape: { label: "back", act: () => go("/") },
  });
  useEffect(() => {
    // While the terminal has the keyboard, one key must lead out of it.
    const back = (event: KeyboardEvent) => {
      if (event.key !== "F10" || terminal.current?.seen.writer !== "you") return;
      event.preventDefault();
      event.stopPropagation();
      give();
    };
    addEventListener("keydown", back, true);
    return () => removeEventListener("keydown", back, true);
  }, []);
  const press = (name: string, data: string) => {
    const made = terminal.current;
    if (!made) return;
    if (name === "Ctrl") {
      made.control = !made.control;
      setSeen({ ...made.seen });
    } else {
      const application = made.term.modes.applicationCursorKeysMode;
      made.type(application ? data.replace(/^\x1b\[(?=[A-D]$)/, "\x1bO") : data);
    }
    made.term.focus();
  };
  return (
    <div class="view one session">
      <header class="about">
        <div class="headline">
          <Badge tone={seen?.link === "lost" ? "warn" : seen?.link === "ended" ? "idle" : mine ? "warn" : "run"}>{seen ? writerText(seen) : "connecting"}</Badge>
          <pre class="command">{seen?.cmd || `session ${id}`}</pre>
          <div class="actions" hidden={allowed().readOnly}>
            {live && !mine && seen.tty && (
              <button type="button" class="primary" onClick={take} disabled={asked && seen?.writer === "other"}>
                {asked && seen?.writer === "other" ? "Asked…" : seen?.writer === "other" ? "Ask for the keyboard" : "Take over"} <kbd>i</kbd>
              </button>
            )}
            {live && mine && (
              <button type="button" class="primary" onClick={give}>
                {seen?.askedBy ? `Give it to ${seen.askedBy}` : "Hand back"} <kbd>F10</kbd>
              </button>
            )}
            {live && !id.includes(".") && (
              <button type="button" disabled={detaching} onClick={detach} title="Make it a job, which outlives the server">
                Detach
              </button>
            )}
            {live && (
              <button type="button" class="deny" onClick={kill}>
                {killArmed ? "End: sure?" : "End"}
              </button>
            )}
          </div>
        </div>
        {seen?.askedBy && mine && <p class="asked">{seen.askedBy} asks for the keyboard.</p>}
        <Trouble error={detachError ?? (seen?.message || null)} />
      </header>
      <div class={mine ? "tty mine" : "tty"}>
        <div class="host" ref={host} />
        {seen?.link === "ended" && (
          <p class="ended">
            {seen.ended?.job_id ? (
              <>
                It is a job now: <a href={`#/jobs/${segment(seen.ended.job_id)}`}>open the job</a>.
              </>
            ) : (
              <>
                It ended{seen.ended?.signal ? ` by ${seen.ended.signal}` : seen.ended?.exit_code != null ? ` with exit code ${seen.ended.exit_code}` : ""}. <a href="#/">Back</a>
              </>
            )}
          </p>
        )}
      </div>
      {mine && (
        <div class="keybar" role="toolbar" aria-label="Keys">
          {BAR.map(([name, data]) => (
            <button
              type="button"
              key={name}
              aria-pressed={name === "Ctrl" ? !!terminal.current?.control : undefined}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => press(name, data)}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
