// Light and dark: the preference of the system, until the reader chooses. Paper is always light.

export type Theme = "light" | "dark";

const storageKey = "kreisel-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: Theme | null = readChoice();
let isPrinting = false;

function readChoice(): Theme | null {
  try {
    const word = localStorage.getItem(storageKey);
    return word === "light" || word === "dark" ? word : null;
  } catch {
    return null; // pages opened from disk may have no storage
  }
}

export function theme(): Theme {
  if (isPrinting) return "light";
  return chosen ?? (system.matches ? "dark" : "light");
}

export function toggleTheme(): void {
  chosen = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(storageKey, chosen);
  } catch {
    // the choice lasts as long as the page
  }
  apply();
}

export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

/** The value of a colour variable of style.css under the present theme. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const seriesColors = 9;
export function seriesColor(i: number): string {
  return color(`series-${(i % seriesColors) + 1}`);
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => {
    isPrinting = true;
    apply();
  });
  addEventListener("afterprint", () => {
    isPrinting = false;
    apply();
  });
  apply();
}
