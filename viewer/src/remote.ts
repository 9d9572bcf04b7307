// Requests to the local server of 'kreisel view' and 'kreisel run --watch'. A page from disk has no server.
import type { Series } from "./data";

/** The token in the address, without which the server refuses requests. */
const token = new URLSearchParams(location.search).get("token") ?? "";

export const isServed = /^https?:$/.test(location.protocol);

function address(path: string, words: Record<string, string | number>): string {
  const query = new URLSearchParams({ token });
  for (const [key, value] of Object.entries(words)) query.set(key, String(value));
  return `${path}?${query}`;
}

export interface Points {
  t: Float64Array;
  y: Float64Array;
}

/** Smallest and largest values of every bucket of a column in a stretch of time, at their own times: pairs (t, y) as doubles. */
export async function fetchPoints(series: Series, from: number, to: number, points: number): Promise<Points> {
  const answer = await fetch(address("/series", { column: series.column ?? 0, result: series.result ?? 0, from, to, points }));
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  const pairs = new Float64Array(await answer.arrayBuffer());
  const [t, y] = [new Float64Array(pairs.length / 2), new Float64Array(pairs.length / 2)];
  for (let i = 0; i < t.length; ++i) [t[i], y[i]] = [pairs[2 * i], pairs[2 * i + 1]];
  return { t, y };
}

export async function fetchJson(path: string, words: Record<string, string | number> = {}): Promise<unknown> {
  const answer = await fetch(address(path, words));
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.json();
}

export async function post(path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(address(path, {}), { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim() || String(answer.status));
  return text === "" ? null : JSON.parse(text);
}
