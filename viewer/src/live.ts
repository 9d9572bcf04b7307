// A running simulation: new points arrive, sliders of parameters restart it, sliders of inputs steer it.
import { readResult, type Knob, type Live, type Result } from "./data";
import { h } from "./dom";
import { significant } from "./format";
import { fetchJson, post } from "./remote";

/** Between two requests for news [ms]. */
const pause = 400;

export class LiveControls {
  readonly element: HTMLElement;
  private readonly state = h("output", { class: "live-state" });
  /** Why the last change was refused: it stays until one is accepted. */
  private readonly trouble = h("p", { class: "live-trouble", role: "alert", hidden: true });
  private version = -1;

  constructor(live: Live, private readonly replace: (result: Result) => void) {
    const group = (title: string, knobs: Knob[], path: string) =>
      knobs.length === 0 ? null : h("fieldset", {}, h("legend", {}, title), ...knobs.map((knob) => this.knob(knob, path)));
    this.element = h("section", { class: "live", "aria-label": "Live" },
      h("div", { class: "row" }, h("h3", {}, "Live"), this.state),
      this.trouble,
      group("parameters: a change restarts the run", live.parameters, "/set-parameter"),
      group("inputs: a change steers the run", live.inputs, "/set-input"));
    void this.watch();
  }

  private knob(knob: Knob, path: string): HTMLElement {
    const [min, max] = rangeOf(knob);
    const value = h("input", { type: "number", step: "any", value: written(knob.value), "aria-label": `${knob.name}, as a number`, change: () => send(Number(value.value)) });
    const slide = h("input", { type: "range", min, max, step: (max - min) / 200, value: knob.value, "aria-label": knob.name, input: () => {
      value.value = written(Number(Number(slide.value).toPrecision(4)));
      clearTimeout(timer);
      timer = window.setTimeout(() => send(Number(slide.value)), 150);
    } });
    let timer = 0;
    const send = (number: number) => {
      if (!Number.isFinite(number)) return;
      slide.value = String(number);
      post(path, { name: knob.name, value: number }).then(() => {
        this.state.textContent = "…";
        this.trouble.hidden = true;
      }, (error: Error) => {
        this.trouble.textContent = `${knob.name} stays as it was: ${error.message}`;
        this.trouble.hidden = false;
      });
    };
    const unit = knob.unit.replace(/\^(\d)/g, (_, digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
    const title = `${knob.meaning}${unit ? ` [${unit}]` : ""}`.trim();
    return h("label", { class: "knob", title }, h("span", {}, knob.name, unit ? h("span", { class: "unit" }, ` [${unit}]`) : null), slide, value);
  }

  private async watch(): Promise<void> {
    for (;;) {
      try {
        const news = (await fetchJson("/live", { version: this.version })) as { version: number; status: string; data?: unknown; t?: number };
        if (news.data && news.version !== this.version) this.replace(readResult(news.data));
        this.version = news.version;
        this.state.textContent = `${news.status}${typeof news.t === "number" ? `, t = ${significant(news.t, 5)} s` : ""}`;
      } catch {
        this.state.textContent = "the program has ended";
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Short enough for its field. */
function written(value: number): string {
  const text = String(value);
  return text.length > 8 ? value.toExponential() : text;
}

/** Of a parameter without limits: around its value. */
export function rangeOf({ value, min, max }: Pick<Knob, "value" | "min" | "max">): [number, number] {
  if (value === 0 && !Number.isFinite(min) && !Number.isFinite(max)) return [-1, 1];
  const reach = value === 0 ? 1 : 2 * Math.abs(value);
  const low = Number.isFinite(min) ? min : Number.isFinite(max) ? Math.min(value, max - 2 * reach) : value >= 0 && value !== 0 ? 0 : -reach;
  const high = Number.isFinite(max) ? max : Math.max(value, low + reach);
  return low < high ? [low, high] : [low, low + 1];
}
