// Output of a job as lines of text: appended as it comes, coloured, searched, limited in number. Text nodes only.
import { Colours, type Style, plain } from "./sgr";

const BLOCK = 250; // lines of one block, which the browser lays out only while it is seen
const MOST_LINES = 40_000;

interface Line {
  element: HTMLElement;
  body: HTMLElement;
  raw: string;
  stream: string;
  offset: number;
}

const encoder = new TextEncoder();
const padded = (number: number) => String(number).padStart(2, "0");

function moment(time: string): string {
  const when = new Date(time);
  return `${padded(when.getHours())}:${padded(when.getMinutes())}:${padded(when.getSeconds())}`;
}

function paint(parent: HTMLElement, text: string, style: Style | null): void {
  if (!style) {
    parent.append(text);
    return;
  }
  const span = document.createElement("span");
  span.textContent = text;
  if (style.classes) span.className = style.classes;
  for (const [kind, colour] of [["f", style.fg], ["g", style.bg]] as const) {
    if (colour.startsWith("c")) span.classList.add(`${kind}${colour.slice(1)}`);
    else if (colour) span.style[kind === "f" ? "color" : "backgroundColor"] = colour;
  }
  parent.append(span);
}

/** One scrolling list of lines. */
export class Log {
  readonly element = document.createElement("div");
  #lines: Line[] = [];
  #colours: Record<string, Colours> = {};
  #open: Record<string, Line | null> = {};
  #found: Line[] = [];
  #at = -1;
  following = true;
  onFollow: (following: boolean) => void = () => {};

  constructor(label: string) {
    this.element.className = "log";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "log");
    this.element.setAttribute("aria-label", label);
    this.element.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      this.#follow(scrollTop + clientHeight >= scrollHeight - 24);
    }, { passive: true });
  }

  get size(): number {
    return this.#lines.length;
  }

  /** True if some lines are marked. */
  get marked(): boolean {
    return this.#found.length > 0;
  }

  #follow(following: boolean): void {
    if (following === this.following) return;
    this.following = following;
    this.onFollow(following);
  }

  /** Append a piece of a stream that begins at an offset; `time` is the moment it came, if that is known. */
  append(stream: string, text: string, offset: number, time: string): void {
    let from = 0;
    let place = offset;
    while (from < text.length) {
      const end = text.indexOf("\n", from);
      const part = end < 0 ? text.slice(from) : text.slice(from, end);
      const line = (this.#open[stream] ??= this.#start(stream, place, time));
      line.raw += part;
      this.#open[stream] = end < 0 ? line : null;
      if (end >= 0) this.#draw(line);
      place += encoder.encode(part).length + 1;
      from = end < 0 ? text.length : end + 1;
    }
    const open = this.#open[stream];
    if (open) this.#draw(open, true);
  }

  note(text: string): void {
    const element = document.createElement("div");
    element.className = "line note";
    element.textContent = text;
    this.#place(element);
  }

  #place(element: HTMLElement): void {
    let block = this.element.lastElementChild;
    if (!block || block.childElementCount >= BLOCK) {
      block = document.createElement("div");
      block.className = "block";
      this.element.append(block);
    }
    block.append(element);
  }

  #start(stream: string, offset: number, time: string): Line {
    const element = document.createElement("div");
    element.className = stream === "stderr" ? "line err" : "line";
    if (time) element.dataset["time"] = moment(time);
    const body = document.createElement("span");
    body.className = "body";
    element.append(body);
    this.#place(element);
    const line = { element, body, raw: "", stream, offset };
    this.#lines.push(line);
    if (this.#lines.length > MOST_LINES + BLOCK) this.#drop();
    return line;
  }

  #drop(): void {
    const first = this.element.firstElementChild;
    first?.remove();
    this.#lines = this.#lines.filter((line) => line.element.parentElement !== first);
  }

  #draw(line: Line, unfinished = false): void {
    const carried = line.raw.replace(/\r+$/, "");
    const shown = carried.slice(carried.lastIndexOf("\r") + 1);
    const colours = (this.#colours[line.stream] ??= new Colours());
    line.body.textContent = "";
    // A line that goes on is drawn again from the colour that it began with.
    const reader = unfinished ? colours.copy() : colours;
    for (const piece of reader.pieces(shown)) paint(line.body, piece.text, piece.style);
  }

  /** Show the end, if the reader has not scrolled away from it. */
  settle(): void {
    if (this.following) this.element.scrollTop = this.element.scrollHeight;
  }

  toEnd(): void {
    this.#follow(true);
    this.settle();
  }

  /** Mark the lines that hold a text, and return how many; the ones of a former search are unmarked. */
  search(text: string): number {
    const wanted = text.toLowerCase();
    return this.#mark((line) => wanted !== "" && plain(line.raw).toLowerCase().includes(wanted), "hit", wanted);
  }

  /** Mark the lines in ranges of bytes of each stream, and return how many there are. */
  markRanges(ranges: Record<string, readonly (readonly [number, number])[]>): number {
    return this.#mark((line) => {
      const size = encoder.encode(line.raw).length;
      return (ranges[line.stream] ?? []).some(([from, to]) => line.offset < to && line.offset + size > from);
    }, "fault", "");
  }

  #mark(wanted: (line: Line) => boolean, name: string, text: string): number {
    for (const line of this.#found) line.element.classList.remove("hit", "fault", "here");
    this.#found = this.#lines.filter(wanted);
    this.#at = -1;
    for (const line of this.#found) line.element.classList.add(name);
    this.#highlight(text);
    return this.#found.length;
  }

  #highlight(text: string): void {
    if (!("highlights" in CSS)) return;
    const ranges: Range[] = [];
    for (const line of text ? this.#found.slice(0, 500) : []) {
      const walker = document.createTreeWalker(line.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const data = (node as Text).data.toLowerCase();
        for (let at = data.indexOf(text); at >= 0; at = data.indexOf(text, at + text.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + text.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("search", new Highlight(...ranges));
  }

  /** Go to the next marked line, or to the one before; return its number, from 1 on. */
  step(by: 1 | -1): number {
    const count = this.#found.length;
    if (!count) return 0;
    this.#found[this.#at]?.element.classList.remove("here");
    if (this.#at < 0) this.#at = by > 0 ? 0 : count - 1;
    else {
      // The next group of neighbouring lines: a traceback is one stop.
      let next = this.#at;
      do next = (next + by + count) % count;
      while (
        this.#found[next]?.element.classList.contains("fault") &&
        next !== this.#at &&
        this.#found[next]!.element.previousElementSibling === this.#found[(next - 1 + count) % count]!.element
      );
      this.#at = next;
    }
    const line = this.#found[this.#at]!;
    line.element.classList.add("here");
    this.#follow(false);
    line.element.scrollIntoView({ block: "center" });
    return this.#at + 1;
  }
}
