// Colours of output: text with escape sequences becomes pieces of text with a style; every other sequence is left out.

export interface Style {
  fg: string;
  bg: string;
  classes: string;
}

export interface Piece {
  text: string;
  style: Style | null;
}

const PLAIN: Style = { fg: "", bg: "", classes: "" };
// CSI sequences; OSC, DCS, APC, PM and SOS strings to their end; other escapes; control characters that show nothing.
const SEQUENCE =
  /\x1b\[([0-?]*)([ -/]*)([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/g;
const FLAGS: Record<number, string> = { 1: "b", 2: "d", 3: "i", 4: "u", 7: "inv", 9: "st" };
const OFF: Record<number, string[]> = { 22: ["b", "d"], 23: ["i"], 24: ["u"], 27: ["inv"], 29: ["st"] };

const level = (step: number) => (step ? 55 + step * 40 : 0);

function indexed(number: number): string {
  if (number < 16) return `c${number}`;
  if (number >= 232) {
    const grey = 8 + (number - 232) * 10;
    return `rgb(${grey},${grey},${grey})`;
  }
  const cube = number - 16;
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}

/** Reads the lines of one stream; a colour lasts until it is changed. */
export class Colours {
  #fg = "";
  #bg = "";
  #flags = new Set<string>();

  copy(): Colours {
    const found = new Colours();
    found.#fg = this.#fg;
    found.#bg = this.#bg;
    found.#flags = new Set(this.#flags);
    return found;
  }

  pieces(line: string): Piece[] {
    const found: Piece[] = [];
    let at = 0;
    if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(line)) return [{ text: line, style: this.#style() }];
    for (const match of line.matchAll(SEQUENCE)) {
      if (match.index > at) found.push({ text: line.slice(at, match.index), style: this.#style() });
      at = match.index + match[0].length;
      if (match[3] === "m" && !match[2]) this.#set(match[1] ?? "");
    }
    if (at < line.length) found.push({ text: line.slice(at), style: this.#style() });
    return found;
  }

  #style(): Style | null {
    if (!this.#fg && !this.#bg && !this.#flags.size) return null;
    return { ...PLAIN, fg: this.#fg, bg: this.#bg, classes: [...this.#flags].join(" ") };
  }

  #set(text: string): void {
    const numbers = text.split(/[;:]/).map((part) => (part === "" ? 0 : Number.parseInt(part, 10)));
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i] ?? 0;
      if (number === 0) {
        this.#fg = this.#bg = "";
        this.#flags.clear();
      } else if (FLAGS[number]) this.#flags.add(FLAGS[number]);
      else if (OFF[number]) for (const flag of OFF[number]) this.#flags.delete(flag);
      else if (number >= 30 && number <= 37) this.#fg = `c${number - 30}`;
      else if (number >= 90 && number <= 97) this.#fg = `c${number - 82}`;
      else if (number >= 40 && number <= 47) this.#bg = `c${number - 40}`;
      else if (number >= 100 && number <= 107) this.#bg = `c${number - 92}`;
      else if (number === 39) this.#fg = "";
      else if (number === 49) this.#bg = "";
      else if (number === 38 || number === 48) {
        let colour = "";
        if (numbers[i + 1] === 5) {
          colour = indexed(Math.min(255, Math.max(0, numbers[i + 2] || 0)));
          i += 2;
        } else if (numbers[i + 1] === 2) {
          const [r, g, b] = [2, 3, 4].map((next) => Math.min(255, Math.max(0, numbers[i + next] || 0)));
          colour = `rgb(${r},${g},${b})`;
          i += 4;
        }
        if (number === 38) this.#fg = colour;
        else this.#bg = colour;
      }
    }
  }
}

/** Return a line without its escape sequences. */
export const plain = (line: string): string => line.replace(SEQUENCE, "");
