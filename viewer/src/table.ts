// A table that is sorted by a click on a column head.
import type { Cell, Table } from "./data";
import { h } from "./dom";
import { significant } from "./format";

function compare(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function shown(cell: Cell): string {
  if (cell === null) return "–";
  if (typeof cell === "number") return significant(cell, 6);
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  return cell;
}

export function sortableTable(table: Table): HTMLElement {
  const body = h("tbody", {});
  const heads = table.columns.map((column, i) =>
    h("th", { scope: "col", "aria-sort": "none" },
      h("button", { type: "button", click: () => sortBy(i) }, column.name, column.unit ? h("span", { class: "unit" }, ` [${column.unit}]`) : null)),
  );
  const isNumeric = table.columns.map((_, i) => {
    const known = table.rows.map((row) => row[i]).filter((cell) => cell !== null);
    return known.length > 0 && known.every((cell) => typeof cell === "number");
  });
  heads.forEach((head, i) => head.classList.toggle("number", isNumeric[i]));

  const kind = (cell: Cell, i: number): string => {
    if (isNumeric[i]) return "number";
    if (cell === "missed") return cell;
    if (cell === "as printed" || cell === "as computed" || cell === "as expected") return "met";
    if (cell === "differs, explained") return "differs";
    return typeof cell === "string" && cell.length > 28 ? "sentence" : "";
  };
  const rows = table.rows.map((cells) => ({
    cells,
    element: h("tr", {}, ...cells.map((cell, i) =>
      h("td", { class: kind(cell, i), ...(typeof cell === "number" ? { title: String(cell) } : {}) }, shown(cell)))),
  }));
  body.append(...rows.map((row) => row.element));

  function sortBy(i: number): void {
    const isDescending = heads[i].getAttribute("aria-sort") === "ascending";
    heads.forEach((head, k) => head.setAttribute("aria-sort", k !== i ? "none" : isDescending ? "descending" : "ascending"));
    const sign = isDescending ? -1 : 1;
    // Missing values stay at the bottom.
    const order = [...rows].sort((a, b) => {
      const [x, y] = [a.cells[i], b.cells[i]];
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      return sign * compare(x, y);
    });
    body.append(...order.map((row) => row.element));
  }

  return h("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": table.title },
    h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body));
}
