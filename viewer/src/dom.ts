// Elements in one call. Strings become text, never markup.

type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean | ((event: any) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (typeof value === "boolean") element.toggleAttribute(key, value);
    else element.setAttribute(key, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** A button that stays pressed. */
export function toggle(label: string, title: string, isOn: boolean, change: (isOn: boolean) => void): HTMLButtonElement {
  const button = h("button", {
    type: "button",
    title,
    class: "toggle",
    "aria-pressed": String(isOn),
    click: () => {
      const next = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(next));
      change(next);
    },
  }, label);
  return button;
}
