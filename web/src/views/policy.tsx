// What the rules make of a command, and why.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Finding, type Verdict, call } from "../api";
import type { Tone } from "../format";
import { useKeys } from "../keys";
import { useLive } from "../live";
import { Badge, Empty, Trouble, go } from "../parts";

const PATIENCE = 200; // ms of silence before the rules are asked

/** Return the verdict on a line, asked for once typing pauses, and what went wrong. */
export function useVerdict(line: string, cwd: string): [Verdict | null, unknown] {
  const [found, set] = useState<[Verdict | null, unknown]>([null, null]);
  useEffect(() => {
    if (!line.trim()) {
      set([null, null]);
      return;
    }
    let current = true;
    const timer = setTimeout(() => {
      call<Verdict>("POST", "/v1/policy/explain", { line, ...(cwd ? { cwd } : {}) }).then(
        (verdict) => current && set([verdict, null]),
        (error: unknown) => current && set([null, error]),
      );
    }, PATIENCE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [line, cwd]);
  return found;
}

const TONES: Record<string, Tone> = { run: "ok", allow: "ok", ask: "warn", refuse: "bad", deny: "bad" };
const SAID: Record<string, string> = { run: "runs", ask: "asks first", refuse: "refused" };

/** What happens to the command here. */
export function Outcome({ verdict }: { verdict: Verdict }): JSX.Element {
  const what = verdict.doors["serve"] ?? verdict.doors["mcp"] ?? verdict.verdict;
  return <Badge tone={TONES[what] ?? "idle"}>{SAID[what] ?? what}</Badge>;
}

function ruleText(rule: Finding["rule"]): string {
  if (!rule) return "";
  const words = rule["prefix"] ?? rule["write"];
  const source = typeof rule["source"] === "string" ? rule["source"] : "";
  return `${String(rule["verdict"])} ${Array.isArray(words) ? words.map((word) => (Array.isArray(word) ? `[${word.join(" ")}]` : String(word))).join(" ") : ""} ${source && `— ${source}`}`;
}

function Part({ what, one }: { what: string; one: Finding }): JSX.Element {
  const undecided = one.basis === "none";
  return (
    <div class="finding">
      <span class="kind">{what}</span>
      <code class="command">{one.text}</code>
      <Badge tone={undecided ? "idle" : (TONES[one.verdict] ?? "idle")}>{undecided ? "no rule" : one.verdict}</Badge>
      <span class="why">
        {one.reason}
        {one.rule && <small>{ruleText(one.rule)}</small>}
      </span>
    </div>
  );
}

export function PolicyView(): JSX.Element {
  const { info } = useLive();
  const [line, setLine] = useState("");
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => input.current?.focus(), []);
  useKeys({ "/": { label: "the command", act: () => input.current?.focus() }, Escape: { label: "back", act: () => go("/") } });
  const [verdict, error] = useVerdict(line, info?.workspaces[0] ?? "");
  return (
    <div class="view policy scrolls">
      <label class="field card">
        <span>A command, as an agent would send it</span>
        <textarea ref={input} rows={3} spellcheck={false} autocapitalize="off" placeholder="git status && rm -rf build | tee log" value={line} onInput={(event) => setLine(event.currentTarget.value)} />
      </label>
      <Trouble error={error} />
      {!verdict && !error && (
        <Empty title="Paste a command.">
          Nothing is run. You see which rule decides, for every part of the line. Rules are in <code>~/.config/agent-exec/rules.toml</code>.
        </Empty>
      )}
      {verdict && (
        <section class="verdict">
          <p class="headline">
            <Outcome verdict={verdict} /> <strong>{verdict.reason}</strong>
          </p>
          <dl class="facts">
            <div>
              <dt>rules</dt>
              <dd>{verdict.rules ?? "none; write ~/.config/agent-exec/rules.toml to have some"}</dd>
            </div>
            <div>
              <dt>approval policy</dt>
              <dd>{verdict.approval_policy}</dd>
            </div>
            {Object.entries(verdict.doors).map(([door, what]) => (
              <div key={door}>
                <dt>{door}</dt>
                <dd>{SAID[what] ?? what}</dd>
              </div>
            ))}
          </dl>
          <h2>Parts</h2>
          <div class="rows">
            {verdict.commands.map((one, index) => (
              <Part key={index} what="command" one={one} />
            ))}
            {verdict.writes.map((one, index) => (
              <Part key={index} what="write" one={one} />
            ))}
            {verdict.doubts.map((one, index) => (
              <Part key={index} what="doubt" one={one} />
            ))}
          </div>
        </section>
      )}
    </div>
  );
}
