// Pictures for 'kreisel view --png' and '--video': the program opens this page in a headless browser, and the page sends them back.
import type { Clock } from "./clock";
import { filmOf } from "./controls";
import type { Scene } from "./scene";

/** The request is in the address: ?take=png|video&width=…&height=…&seconds=…&rate=…&at=…&token=… */
export function takePictures(clock: Clock, scene: Scene): void {
  const words = new URLSearchParams(location.search);
  const what = words.get("take");
  if (what !== "png" && what !== "video") return;
  const number = (key: string, otherwise: number) => {
    const value = Number(words.get(key));
    return words.has(key) && Number.isFinite(value) ? value : otherwise;
  };
  const [width, height] = [number("width", 960), number("height", 720)];
  const send = (body: BodyInit | Blob) => fetch(`/take?token=${encodeURIComponent(words.get("token") ?? "")}`, { method: "POST", body });
  const fail = (error: Error) => send(`!${error.message}`);
  if (what === "video") {
    filmOf(clock, scene, width, height, number("seconds", 6), number("rate", 30)).then(send).catch(fail);
    return;
  }
  const canvas = scene.pictureAt(number("at", clock.begin), width, height);
  canvas.toBlob((blob) => void (blob ? send(blob) : fail(new Error("the picture cannot be encoded"))));
}
