// The keyboard: each view names its keys, `?` lists those that work now.
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  label: string;
  act: () => void;
}
export type Keys = Record<string, Key>;

const layers: { current: Keys }[] = [];
let pending = "";
let timer = 0;

/** Have keys work as long as a component is there; the ones of the latest component come first. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    layers.unshift(latest);
    return () => void layers.splice(layers.indexOf(latest), 1);
  }, []);
}

/** Return all keys that work now, those of the view first. */
export const known = (): Keys[] => layers.map((layer) => layer.current).filter((keys) => Object.keys(keys).length);

function typing(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable], .xterm");
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target)) {
    if (event.key === "Escape" && !(event.target as HTMLElement).closest(".xterm")) (event.target as HTMLElement).blur();
    return;
  }
  if (event.key === "Enter" && (event.target as HTMLElement).closest?.("button, a, summary")) return;
  clearTimeout(timer);
  const combination = pending + event.key;
  const found = layers.map((layer) => layer.current[combination] ?? layer.current[event.key]).find(Boolean);
  pending = "";
  if (found) {
    event.preventDefault();
    found.act();
  } else if (layers.some((layer) => Object.keys(layer.current).some((key) => key.startsWith(`${event.key} `)))) {
    pending = `${event.key} `;
    timer = window.setTimeout(() => (pending = ""), 1200);
  }
});
