// Puts the page together from the data block.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Clock } from "./clock";
import { helpDialog, listenToKeys, transport } from "./controls";
import { readResult, readResultText, type Result } from "./data";
import { h, toggle } from "./dom";
import { extremes, facts, remarks, status } from "./facts";
import { LiveControls } from "./live";
import { TimePanels } from "./panels";
import { Scene } from "./scene";
import { HeatPanel } from "./heat";
import { MatrixPanel } from "./matrix";
import { StudyPanel, type StudyView } from "./study";
import { sortableTable } from "./table";
import { takePictures } from "./take";
import { startTheme, toggleTheme } from "./theme";

class Page {
  private clock: Clock | null = null;
  private scene: Scene | null = null;
  private panels: TimePanels | null = null;
  private studies: StudyView[] = [];
  private live: LiveControls | null = null;
  private readonly overlayLine = h("p", { class: "overlay-line", hidden: true });
  private readonly root: HTMLElement;

  constructor(private readonly result: Result, root: HTMLElement) {
    this.root = root;
    document.title = `${result.title} – kreisel`;
    const help = helpDialog();
    root.append(this.header(help), ...this.studyPart(), ...this.runPart(), ...this.tables(), this.footer(), help);
    this.acceptDrops();
    result.overlays.slice(0, 1).forEach((other) => this.overlay(other));
    void this.beginWhenShown(help);
  }

  /** The 3D picture keeps the browser busy: text, plots and the curves that the server brings come first. */
  private async beginWhenShown(help: HTMLDialogElement): Promise<void> {
    if (this.scene) {
      await painted();
      if (this.panels && this.panels.arriving.length > 0) {
        await this.panels.arrived();
        await painted();
      }
    }
    performance.mark("plots shown"); // for the benchmark
    this.begin(help);
  }

  private begin(help: HTMLDialogElement): void {
    const { result } = this;
    if (this.scene && !this.scene.start()) {
      this.scene.element.replaceWith(h("p", { class: "scene none" }, "This browser cannot show 3D pictures (WebGL is missing or switched off)."));
      this.root.querySelector(".view-bar")?.remove();
      this.scene = null;
    }
    listenToKeys(this.clock, this.scene, this.panels, () => help.showModal());
    if (this.clock && this.scene) takePictures(this.clock, this.scene);
    // For tests and for the console.
    Object.assign(window, { kreisel: { result, clock: this.clock, scene: this.scene, panels: this.panels, studies: this.studies } });
  }

  private header(help: HTMLDialogElement): HTMLElement {
    const file = h("input", { type: "file", accept: ".html,.json", hidden: true, change: () => void this.readFile(file.files?.[0]) });
    const button = (label: string, title: string, click: () => void) => h("button", { type: "button", title, click }, label);
    return h("header", { class: "top" },
      h("div", { class: "title" }, h("h1", {}, this.result.title), status(this.result)),
      h("div", { class: "toolbar" },
        button("overlay…", "Overlay a second result on this one: another report, or its data as JSON", () => file.click()),
        ...(this.result.series.length > 0 ? [button("new plot…", "Choose what to plot, over time or over each other", () => this.plotDialog())] : []),
        button("print", "Print this page", () => print()),
        button("light / dark", "Change the colours (l)", toggleTheme),
        h("button", { type: "button", class: "keys", title: "What the keys do (?)", click: () => help.showModal() }, "keys"),
        file),
      this.result.command ? this.command() : null,
      this.overlayLine,
      remarks(this.result),
    );
  }

  private command(): HTMLElement {
    const code = h("code", {}, this.result.command);
    const copy = h("button", { type: "button", title: "Copy the command", click: () => void copyText(this.result.command, code, copy) }, "copy");
    return h("div", { class: "command" }, code, copy);
  }

  private studyPart(): HTMLElement[] {
    this.studies = this.result.plots.map((plot) =>
      plot.kind === "heat" ? new HeatPanel(plot) : plot.kind === "matrix" ? new MatrixPanel(plot) : new StudyPanel(plot));
    if (this.studies.length === 0) return [];
    return [h("div", { class: "studies" }, ...this.studies.map((study) => study.element))];
  }

  private runPart(): HTMLElement[] {
    const { result } = this;
    if (result.time.length === 0) return [facts(result)].filter((box) => box.childElementCount > 0);
    const clock = new Clock(result.bodies.length > 0 ? result.frameTimes : result.time);
    this.clock = clock;
    this.panels = new TimePanels(result, clock, () => undefined);
    const side = h("div", { class: "side" });
    if (result.live) this.live = new LiveControls(result.live, (next) => this.replace(next));
    if (result.bodies.length > 0) side.append(...this.animation(clock));
    else side.append(transport(clock, null));
    if (this.live) side.append(this.live.element);
    const isAlone = result.bodies.length === 0 || result.series.length === 0;
    return [facts(result), h("div", { class: isAlone ? "run flat" : "run" }, side, this.panels.element)];
  }

  private animation(clock: Clock): HTMLElement[] {
    this.scene = new Scene(this.result, clock, (body) => this.panels?.select(body));
    return [this.scene.element, transport(clock, this.scene)];
  }

  private tables(): HTMLElement[] {
    const { result } = this;
    const sections: HTMLElement[] = [];
    const section = (title: string, isOpen: boolean, ...content: HTMLElement[]) =>
      h("details", { class: "section", open: isOpen }, h("summary", {}, h("h2", {}, title)), ...content);
    for (const table of result.tables) sections.push(section(table.title, true, sortableTable(table)));
    if (result.series.length > 0) sections.push(lazySection("First, smallest, largest and last values", () => sortableTable(extremes(result))));
    if (Object.keys(result.summary).length > 0)
      sections.push(section("Summary as JSON", false, h("pre", {}, JSON.stringify(result.summary, null, 2))));
    return sections;
  }

  private footer(): HTMLElement {
    const { points, series } = this.result;
    const isThinned = series.some((s) => s.y.length < points);
    const isRough = this.result.sampled ? ", read in pieces: more points are loaded where you zoom in" : ", thinned for display; extrema are kept";
    const what = points > 0 ? `${points.toLocaleString("en")} points${isThinned ? isRough : ""}` : "";
    return h("footer", {}, h("span", {}, this.result.program), h("span", {}, what));
  }

  private async readFile(file: File | undefined): Promise<void> {
    if (!file) return;
    try {
      this.overlay(readResultText(await file.text()));
    } catch (error) {
      this.overlayLine.textContent = `'${file.name}' cannot be overlaid: ${(error as Error).message}`;
      this.overlayLine.hidden = false;
    }
  }

  overlay(other: Result): void {
    this.panels?.overlay(other);
    this.scene?.overlay(other);
    for (const study of this.studies) {
      const twin = other.plots.find((plot) => plot.title === study.study.title);
      if (twin) study.overlay(twin);
    }
    this.overlayLine.replaceChildren(h("span", { class: "dashed" }), "overlaid, dashed: ", h("b", {}, other.title));
    if (other.command) this.overlayLine.append(h("code", {}, other.command));
    if (this.panels) {
      const isOn = this.panels.showsDifference;
      this.overlayLine.append(toggle("difference", "The second result minus this one, instead of both", isOn, (on) => this.panels?.setDifference(on)));
    }
    this.overlayLine.hidden = false;
  }

  /** Which quantities, and over what. */
  private plotDialog(): void {
    const panels = this.panels;
    if (!panels) return;
    const { choices } = panels;
    const options = () => choices.map(({ key, unit }) => h("option", { value: key }, unit ? `${key} [${unit}]` : key));
    const y = h("select", { multiple: true, size: 12, "aria-label": "curves", required: true }, ...options());
    const x = h("select", { "aria-label": "over" }, h("option", { value: "" }, "time"), ...options());
    const filter = h("input", { type: "search", placeholder: "find…", "aria-label": "find a quantity", input: () => {
      for (const option of y.options) option.hidden = !option.text.toLowerCase().includes(filter.value.toLowerCase());
    } });
    const dialog = h("dialog", { class: "help plot-dialog", "aria-label": "New plot" },
      h("h3", {}, "New plot"),
      h("form", { method: "dialog", submit: () => {
        const chosen = Array.from(y.selectedOptions, (option) => option.value);
        if (chosen.length > 0) panels.addPlot(x.value === "" ? null : x.value, chosen);
      } },
        h("label", {}, "Curves, several with ctrl or shift", filter, y),
        h("label", {}, "over", x),
        h("div", { class: "row" }, h("button", { type: "submit", value: "add" }, "add"), h("button", { type: "button", click: () => dialog.close() }, "cancel"))));
    dialog.addEventListener("close", () => dialog.remove());
    this.root.append(dialog);
    dialog.showModal();
  }

  // -- live: the program that made this page is still running

  private replace(result: Result): void {
    this.panels?.replace(result);
    this.scene?.replace(result);
    this.clock?.extend(result.bodies.length > 0 ? result.frameTimes : result.time);
    document.querySelector(".facts")?.replaceWith(facts(result));
    document.querySelector(".title .status")?.replaceWith(status(result) ?? "");
  }

  private acceptDrops(): void {
    this.root.addEventListener("dragover", (event) => event.preventDefault());
    this.root.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.readFile(event.dataTransfer?.files[0]);
    });
  }
}

/** When the page as it is now has been shown; at once where nothing is shown. */
function painted(): Promise<void> {
  if (document.visibilityState === "hidden") return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))));
}

/** Built when it is first opened, because long tables take time. */
function lazySection(title: string, build: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "section" }, h("summary", {}, h("h2", {}, title)));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(build());
  });
  return details;
}

/** Pages from disk may not use the clipboard; then the text is selected instead. */
async function copyText(text: string, shown: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  } catch {
    getSelection()?.selectAllChildren(shown);
  }
}

function start(): void {
  startTheme();
  const root = document.getElementById("page")!;
  try {
    const block = document.getElementById("kreisel-data");
    new Page(readResult(JSON.parse(block?.textContent ?? "null")), root);
  } catch (error) {
    root.append(h("p", { class: "fatal" }, `This report cannot be shown: ${(error as Error).message}`));
    console.error(error);
  }
}

start();
