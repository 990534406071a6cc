// The dashboard: the frame around the views, the address, and the keys that work everywhere.
import "@xterm/xterm/css/xterm.css";
import "./app.css";
import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { adoptToken, allowed, keepToken } from "./api";
import { duration, shortFolder } from "./format";
import { known, useKeys } from "./keys";
import { followApprovals, keepConnected, retry, useLive, useNow } from "./live";
import { go } from "./parts";
import { applyTheme, choose, chosen, themes } from "./theme";
import { Events } from "./views/events";
import { Home } from "./views/home";
import { JobView } from "./views/job";
import { Jobs } from "./views/jobs";
import { PolicyView } from "./views/policy";
import { Run } from "./views/run";
import { SessionView } from "./views/session";

const PLACES = [
  ["/", "Home", "h", "M3 7.5 8 3l5 4.5V13H9.7V9.6H6.3V13H3z"],
  ["/jobs", "Jobs", "j", "M3 4.5h10M3 8h10M3 11.5h10"],
  ["/run", "Run", "r", "M5.5 3.5 12 8l-6.5 4.5z"],
  ["/events", "Events", "e", "M2.5 8.5h2.6l1.7-5 2.6 9 1.7-4h2.4"],
  ["/policy", "Policy", "p", "M8 2.5 13 4v4c0 3-2.2 4.8-5 5.6C5.2 12.8 3 11 3 8V4z"],
] as const;

function useAddress(): string {
  const [address, set] = useState(location.hash.slice(1) || "/");
  useEffect(() => {
    const listener = () => {
      if (adoptToken()) location.reload(); // what was known is forgotten, too
      set(location.hash.slice(1) || "/");
    };
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return address;
}

function View({ address }: { address: string }): JSX.Element {
  const { job } = allowed();
  if (job) return <JobView id={job} />;
  const [path = "/", given = ""] = address.split("?", 2);
  const [, room, name] = path.split("/");
  const id = name ? decoded(name) : "";
  if (room === "jobs") return id ? <JobView key={id} id={id} /> : <Jobs key={given} given={decoded(given)} />;
  if (room === "sessions" && id) return <SessionView key={id} id={id} />;
  if (room === "run") return <Run />;
  if (room === "events") return <Events />;
  if (room === "policy") return <PolicyView />;
  return <Home />;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function Connection(): JSX.Element | null {
  const { link, retryAt, why } = useLive();
  const now = useNow();
  const [replaced, setReplaced] = useState(false);
  const live = useLive();
  useEffect(() => {
    if (!live.replaced || link !== "up") return;
    setReplaced(true);
    const timer = setTimeout(() => setReplaced(false), 6000);
    return () => clearTimeout(timer);
  }, [live.replaced, link, live.info?.pid]);
  if (link === "down") {
    return (
      <div class="connection down" role="status">
        <span>
          <strong>Server gone; reconnecting.</strong> Jobs go on without it. {retryAt > now ? `Next attempt in ${duration(retryAt - now)}.` : "Trying now."}
        </span>
        <button type="button" onClick={retry} title={why}>
          Try now
        </button>
      </div>
    );
  }
  if (replaced) {
    return (
      <div class="connection back" role="status">
        Connected to a new server. Jobs went on; sessions of the former one have ended.
      </div>
    );
  }
  return null;
}

function Denied(): JSX.Element {
  const { why } = useLive();
  const [text, set] = useState("");
  return (
    <main class="denied">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          keepToken(text.trim());
          retry();
        }}
      >
        <h1>agent-exec</h1>
        <p>This page needs the server's token. `agent-exec serve --open` opens it with the token; or paste it here. The server printed which file holds it.</p>
        <label class="field">
          <span>Token</span>
          <input type="password" autocomplete="off" value={text} onInput={(event) => set(event.currentTarget.value)} />
        </label>
        {why && <p class="trouble">{why}</p>}
        <button type="submit" class="primary" disabled={!text.trim()}>
          Open
        </button>
      </form>
    </main>
  );
}

function Help({ close }: { close: () => void }): JSX.Element {
  useKeys({ Escape: { label: "close", act: close }, "?": { label: "close", act: close } });
  const groups = known();
  return (
    <div class="help" onClick={close}>
      <div class="card" role="dialog" aria-label="Keys" onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <div class="groups">
          {groups.map((keys, index) => (
            <dl key={index}>
              {Object.entries(keys).map(([key, { label }]) => (
                <div key={key}>
                  <dt>
                    {key.split(" ").map((one) => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          ))}
        </div>
      </div>
    </div>
  );
}

function Frame(): JSX.Element {
  const address = useAddress();
  const { link, info, approvals, jobs } = useLive();
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useState(chosen());
  const nextTheme = () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
    choose(next);
    setTheme(next);
  };
  const waiting = approvals?.length ?? 0;
  const running = jobs.filter((job) => job.state === "running").length;
  useKeys({
    ...Object.fromEntries(PLACES.map(([path, name, key]) => [`g ${key}`, { label: name, act: () => go(path) }])),
    n: { label: "run a command", act: () => go("/run") },
    T: { label: "dark, light, as the system", act: nextTheme },
    "?": { label: "these keys", act: () => setHelp(true) },
  });
  useEffect(() => {
    document.title = waiting ? `(${waiting}) agent-exec` : "agent-exec";
  }, [waiting]);
  const here = address.split("?")[0] ?? "/";
  if (link === "denied") return <Denied />;
  return (
    <div class="frame">
      <nav aria-label="Views">
        <a class="brand" href="#/">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3.5 4.5 7 8l-3.5 3.5M8.5 11.5H13" />
          </svg>
          <span>agent-exec</span>
        </a>
        {(allowed().job ? [] : PLACES).map(([path, name, key, icon]) => (
          <a key={path} class="place" href={`#${path}`} aria-current={(path === "/" ? here === "/" || here.startsWith("/sessions") : here.startsWith(path)) ? "page" : undefined}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d={icon} />
            </svg>
            <span>{name}</span>
            {path === "/" && waiting > 0 && <b class="waiting">{waiting}</b>}
            {path === "/jobs" && running > 0 && <b class="number">{running}</b>}
            <kbd>g {key}</kbd>
          </a>
        ))}
        <div class="foot">
          <span class={`state ${link}`} title={info?.workspaces.join("\n")}>
            <i class={`dot ${link === "up" ? "ok" : "warn"}`} /> {link === "up" ? shortFolder(info?.workspaces[0] ?? "") : link === "down" ? "server gone" : "connecting"}
          </span>
          {info && (
            <span class="muted">
              {info.version} · {info.sandbox}
            </span>
          )}
          <span class="tools">
            <button type="button" class="quiet" onClick={nextTheme} aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`}>
              {theme === "system" ? "◐" : theme === "dark" ? "●" : "○"}
            </button>
            <button type="button" class="quiet" onClick={() => setHelp(true)} aria-label="Keys">
              ?
            </button>
          </span>
        </div>
      </nav>
      <main>
        <Connection />
        {waiting > 0 && here !== "/" && (
          <a class="connection asks" href="#/">
            {waiting === 1 ? "One command waits for your approval." : `${waiting} commands wait for your approval.`} <b>Answer</b>
          </a>
        )}
        <View address={address} />
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

adoptToken();
applyTheme();
render(<Frame />, document.getElementById("app")!);
void keepConnected();
void followApprovals();
