// Dark or light: as the system says, unless the person has chosen.
import type { ITheme } from "@xterm/xterm";

const PLACE = "agent-exec.theme";
const system = matchMedia("(prefers-color-scheme: light)");
export const themes = ["system", "dark", "light"] as const;
export type Theme = (typeof themes)[number];
const listeners = new Set<() => void>();

export const chosen = (): Theme => (themes as readonly string[]).includes(localStorage.getItem(PLACE) ?? "") ? (localStorage.getItem(PLACE) as Theme) : "system";
export const isLight = (): boolean => chosen() === "light" || (chosen() === "system" && system.matches);

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = isLight() ? "light" : "dark";
  for (const one of listeners) one();
}

export function choose(theme: Theme): void {
  localStorage.setItem(PLACE, theme);
  applyTheme();
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

system.addEventListener("change", applyTheme);

/** Return the colours of a terminal, which are those of output too. */
export function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const colours: Record<string, string> = {};
  names.forEach((name, index) => {
    colours[name] = read(`--c${index}`);
    colours[`bright${name[0]!.toUpperCase()}${name.slice(1)}`] = read(`--c${index + 8}`);
  });
  return {
    ...colours,
    background: read("--terminal"),
    foreground: read("--text"),
    cursor: read("--accent"),
    cursorAccent: read("--terminal"),
    selectionBackground: read("--selection"),
  };
}
