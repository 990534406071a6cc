// A session's terminal: one conversation over a WebSocket, resumed where it was cut; drawn by xterm.js.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { type Session, backoff, get, segment, sessionId, token } from "./api";
import { onTheme, terminalTheme } from "./theme";

export const FONT = 'ui-monospace, SFMono-Regular, "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const AHEAD = 1 << 20; // bytes that may wait to be drawn before the server is asked to pause
const LINE_HEIGHT = 1.15;

export interface Seen {
  link: "connecting" | "live" | "lost" | "ended" | "failed";
  writer: null | "you" | "other";
  writerName: string;
  askedBy: string;
  rows: number;
  columns: number;
  tty: boolean;
  cmd: string;
  ended: { exit_code: number | null; signal: string | null; job_id: string | null } | null;
  message: string;
}

interface Told {
  type: string;
  offset: number;
  rows: number;
  columns: number;
  data: string;
  writer: Seen["writer"];
  writer_name: string | null;
  name: string | null;
  asked_by: string | null;
  tty: boolean;
  cmd: string;
  message: string;
  exit_code: number | null;
  signal: string | null;
  job_id: string | null;
}

export interface Options {
  /** True for a tile: small, never typed into, and brought up to date by a picture of the screen if it lags. */
  small?: boolean;
  onChange?: (seen: Seen) => void;
}

let ratio = 0;

/** Return the width of a character, as a part of the size of the font. */
function charRatio(): number {
  if (!ratio) {
    const context = document.createElement("canvas").getContext("2d");
    if (context) {
      context.font = `100px ${FONT}`;
      ratio = context.measureText("W").width / 100;
    }
    ratio ||= 0.6;
  }
  return ratio;
}

export class LiveTerminal {
  readonly seen: Seen = {
    link: "connecting",
    writer: null,
    writerName: "",
    askedBy: "",
    rows: 24,
    columns: 80,
    tty: true,
    cmd: "",
    ended: null,
    message: "",
  };
  readonly term: Terminal;
  #fit = new FitAddon();
  #socket: WebSocket | null = null;
  #offset: number | null = null;
  #attempt = 0;
  #timer = 0;
  #waiting = 0;
  #paused = false;
  #asked = "";
  #found: { rows: number; columns: number } | null = null;
  #closed = false;
  #watching: ResizeObserver;
  #unTheme: () => void;
  #seenAgain: () => void;
  /** True while the Ctrl key of the key bar is held. */
  control = false;

  constructor(
    readonly id: string,
    private readonly host: HTMLElement,
    private readonly options: Options = {},
  ) {
    this.term = new Terminal({
      fontFamily: FONT,
      fontSize: options.small ? 7 : 13,
      lineHeight: LINE_HEIGHT,
      scrollback: options.small ? 0 : 10_000,
      disableStdin: true,
      cursorBlink: false,
      cursorInactiveStyle: options.small ? "none" : "outline",
      theme: terminalTheme(),
      screenReaderMode: false,
      logLevel: "off",
      allowProposedApi: false,
    });
    // Links that a program names itself (OSC 8) are not followed, and programs do not write the clipboard (OSC 52).
    for (const number of [8, 52]) this.term.parser.registerOscHandler(number, () => true);
    this.term.loadAddon(this.#fit);
    this.term.open(host);
    if (options.small) this.term.textarea?.setAttribute("tabindex", "-1");
    this.term.onData((data) => this.type(data));
    this.term.onBinary((data) => this.#send(Uint8Array.from(data, (mark) => mark.charCodeAt(0))));
    this.term.attachCustomKeyEventHandler((event) => this.#isForProgram(event));
    this.#watching = new ResizeObserver(() => this.layout());
    this.#watching.observe(host);
    this.#unTheme = onTheme(() => (this.term.options.theme = terminalTheme()));
    this.#seenAgain = () => {
      if (!document.hidden && this.seen.link === "lost") void this.#again();
    };
    document.addEventListener("visibilitychange", this.#seenAgain);
    addEventListener("online", this.#seenAgain);
    this.#connect();
  }

  dispose(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#seenAgain);
    removeEventListener("online", this.#seenAgain);
    this.#watching.disconnect();
    this.#unTheme();
    this.#socket?.close();
    this.term.dispose();
  }

  #say(change: Partial<Seen>): void {
    if (this.#closed) return;
    Object.assign(this.seen, change);
    this.options.onChange?.(this.seen);
  }

  #connect(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#socket?.close();
    const fields = new URLSearchParams({ name: "browser" });
    if (this.#offset !== null) fields.set("offset", String(this.#offset));
    if (this.options.small) fields.set("skip", String(64 << 10));
    const address = `${location.origin.replace(/^http/, "ws")}/v1/sessions/${segment(this.id)}/terminal?${fields}`;
    const socket = new WebSocket(address, ["agent-exec", `bearer.${token()}`]);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#waiting = 0;
    this.#paused = false;
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      if (typeof data === "string") this.#told(JSON.parse(data) as Told);
      else this.#output(new Uint8Array(data as ArrayBuffer));
    };
    socket.onclose = () => {
      if (socket !== this.#socket || this.#closed || this.seen.link === "ended" || this.seen.link === "failed") return;
      this.#setWriter(null, "", "");
      this.#say({ link: "lost" });
      this.#timer = window.setTimeout(() => void this.#again(), backoff(this.#attempt++));
    };
  }

  /** Connect again, unless the server answers that the session is gone: a socket cannot tell that from a lost server. */
  async #again(): Promise<void> {
    try {
      const { sessions } = await get<{ sessions: Session[] }>("/v1/sessions");
      if (!sessions.some((one) => sessionId(one) === this.id)) {
        this.#say({ link: "failed", message: "this session has ended, or its server has; look at the list on the first page" });
        return;
      }
    } catch {
      // Then the socket fails, too, and it is tried again later.
    }
    this.#connect();
  }

  #output(data: Uint8Array): void {
    this.#offset = (this.#offset ?? 0) + data.length;
    this.#waiting += data.length;
    if (this.#waiting > AHEAD && !this.#paused) {
      this.#paused = true;
      this.#tell({ type: "pause" });
    }
    this.term.write(data, () => {
      this.#waiting -= data.length;
      if (this.#paused && this.#waiting < AHEAD / 4) {
        this.#paused = false;
        this.#tell({ type: "resume" });
      }
    });
  }

  #told(told: Told): void {
    switch (told.type) {
      case "hello":
        this.#attempt = 0;
        this.#offset = told.offset;
        this.#say({ tty: told.tty, cmd: told.cmd, message: "" });
        if (!told.tty) this.term.options.convertEol = true;
        this.#inTurn(() => this.#resized(told));
        this.#setWriter(told.writer, told.writer_name ?? "", "");
        this.#say({ link: "live" });
        break;
      case "snapshot":
        this.#inTurn(() => {
          this.term.reset();
          this.#resized(told);
        });
        this.term.write(told.data);
        this.#offset = told.offset;
        break;
      case "resize":
        this.#inTurn(() => this.#resized(told));
        break;
      case "writer":
        this.#setWriter(told.writer, told.name ?? "", told.asked_by ?? "");
        break;
      case "refused":
        this.#say({ message: told.message });
        break;
      case "end":
        this.#say({ link: "ended", ended: { exit_code: told.exit_code, signal: told.signal, job_id: told.job_id } });
        this.#setWriter(null, "", "");
        break;
      case "error":
        this.#say({ link: "failed", message: told.message });
        break;
    }
  }

  /** Do something in its place in the stream: after what came before was drawn, and before what comes after. */
  #inTurn(act: () => void): void {
    this.term.write("", () => {
      if (!this.#closed) act();
    });
  }

  #resized({ rows, columns }: { rows: number; columns: number }): void {
    if (this.#closed || !rows || !columns) return;
    this.#say({ rows, columns });
    if (this.term.rows !== rows || this.term.cols !== columns) this.term.resize(columns, rows);
    if (this.seen.writer !== "you") this.layout();
  }

  #setWriter(writer: Seen["writer"], writerName: string, askedBy: string): void {
    const before = this.seen.writer;
    this.#say({ writer, writerName, askedBy, message: "" });
    this.term.options.disableStdin = writer !== "you";
    this.term.options.cursorBlink = writer === "you";
    if (before === writer) return;
    this.#asked = "";
    this.layout();
    if (writer === "you") this.term.focus();
  }

  /** Choose the size: the writer's terminal fills the room; a watcher sees the session's own size, in a font that fits. */
  layout(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (this.#closed || !width) return;
    if (this.seen.writer === "you") {
      this.term.options.fontSize = width < 600 ? 12 : 13;
      const size = this.#fit.proposeDimensions();
      const asked = size ? `${size.rows} ${size.cols}` : "";
      if (size && size.rows > 1 && size.cols > 1 && asked !== this.#asked) {
        this.#asked = asked; // the terminal here follows when the server says where in the stream
        this.#tell({ type: "resize", rows: size.rows, columns: size.cols });
      }
      return;
    }
    const byWidth = (width - (this.options.small ? 4 : 16)) / (this.term.cols * charRatio());
    const byHeight = height / (this.term.rows * LINE_HEIGHT * 1.2);
    const [least, most] = this.options.small ? [3, 11] : [7, 14];
    const wanted = this.options.small ? Math.min(byWidth, Math.max(byHeight, byWidth * 0.7)) : byWidth;
    const size = Math.max(least, Math.min(most, Math.floor(wanted * 4) / 4));
    if (size !== this.term.options.fontSize) this.term.options.fontSize = size;
  }

  #isForProgram(event: KeyboardEvent): boolean {
    if (this.seen.writer === "you") return true;
    return event.type !== "keydown" || (event.ctrlKey && event.key === "c"); // the page's own keys work while it only watches
  }

  /** Type a text; with Ctrl held on the key bar, its first letter is a control character. */
  type(text: string): void {
    if (this.seen.writer !== "you") return;
    let typed = text;
    if (this.control && /^[@-_a-z]/.test(text)) {
      typed = String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31) + text.slice(1);
      this.control = false;
      this.#say({});
    }
    this.#send(new TextEncoder().encode(typed));
  }

  #send(data: Uint8Array<ArrayBuffer>): void {
    if (this.seen.writer === "you" && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  #tell(object: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(object));
  }

  take(): void {
    this.#found = { rows: this.seen.rows, columns: this.seen.columns };
    this.#tell({ type: "take" });
  }

  /** Hand the keyboard back, and the terminal in the size in which it was found. */
  give(): void {
    if (this.#found && !this.seen.askedBy) this.#tell({ type: "resize", ...this.#found });
    this.#tell({ type: "give" });
  }

  kill(): void {
    this.#tell({ type: "kill" });
  }
}
