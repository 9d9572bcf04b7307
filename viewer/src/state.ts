// The choices of the reader are kept in the address of the page, after the '#': a link or a reload shows the same.

const words = new URLSearchParams(location.hash.slice(1));
let timer = 0;

export function kept(key: string): string | null {
  return words.get(key);
}

/** null removes the key. */
export function keep(key: string, value: string | null): void {
  if (value === null ? !words.has(key) : words.get(key) === value) return;
  if (value === null) words.delete(key);
  else words.set(key, value);
  clearTimeout(timer);
  timer = window.setTimeout(write, 120);
}

function write(): void {
  const text = words.toString();
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // browsers limit how often an address may change; the next change writes it
  }
}

/** Lists of names that may hold any letter. */
export function joined(names: string[]): string {
  return names.map((name) => name.replace(/[~!]/g, (c) => (c === "~" ? "~0" : "~1"))).join("!");
}
export function parted(text: string | null): string[] {
  return text === null || text === "" ? [] : text.split("!").map((name) => name.replace(/~1/g, "!").replace(/~0/g, "~"));
}
