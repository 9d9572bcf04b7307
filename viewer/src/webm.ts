// A video, frame by frame: encoded by the browser (WebCodecs), put into a WebM file here. Slow machines do not drop frames.

const be = (value: number, bytes: number): number[] => Array.from({ length: bytes }, (_, i) => Math.floor(value / 2 ** (8 * (bytes - 1 - i))) % 256);
const ascii = (text: string): number[] => Array.from(text, (c) => c.charCodeAt(0));

/** Length of the content, in eight bytes. */
function size(length: number): number[] {
  return [1, ...be(length, 7)];
}
function element(id: number[], content: number[] | Uint8Array): Uint8Array {
  const head = [...id, ...size(content.length)];
  const out = new Uint8Array(head.length + content.length);
  out.set(head);
  out.set(content, head.length);
  return out;
}
function joined(...parts: (number[] | Uint8Array)[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) out.set(part, at), (at += part.length);
  return out;
}
function double(value: number): number[] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return Array.from(new Uint8Array(view.buffer));
}
const whole = (id: number[], value: number) => element(id, be(value, 4));
const word = (id: number[], text: string) => element(id, ascii(text));

export interface Picture {
  bytes: Uint8Array;
  /** [ms] */
  at: number;
  isKey: boolean;
}

/** Matroska (RFC 9559) as WebM allows it: one track, one cluster per key picture. */
export function webm(pictures: Picture[], width: number, height: number, duration: number, codec: "V_VP8" | "V_VP9"): Blob {
  const head = element([0x1a, 0x45, 0xdf, 0xa3], joined(
    whole([0x42, 0x86], 1), whole([0x42, 0xf7], 1), whole([0x42, 0xf2], 4), whole([0x42, 0xf3], 8), word([0x42, 0x82], "webm"), whole([0x42, 0x87], 4), whole([0x42, 0x85], 2)));
  const info = element([0x15, 0x49, 0xa9, 0x66], joined(
    whole([0x2a, 0xd7, 0xb1], 1_000_000), element([0x44, 0x89], double(duration)), word([0x4d, 0x80], "kreisel"), word([0x57, 0x41], "kreisel")));
  const video = element([0xe0], joined(whole([0xb0], width), whole([0xba], height)));
  const tracks = element([0x16, 0x54, 0xae, 0x6b], element([0xae], joined(
    whole([0xd7], 1), whole([0x73, 0xc5], 1), whole([0x83], 1), word([0x86], codec), video)));
  const clusters: Uint8Array[] = [];
  for (let i = 0; i < pictures.length;) {
    const begin = Math.round(pictures[i].at);
    const blocks: Uint8Array[] = [whole([0xe7], begin)];
    // Times within a cluster have 16 bits.
    do {
      const { bytes, at, isKey } = pictures[i];
      blocks.push(element([0xa3], joined([0x81, ...be(Math.round(at) - begin, 2), isKey ? 0x80 : 0], bytes)));
      ++i;
    } while (i < pictures.length && !pictures[i].isKey && pictures[i].at - begin < 30_000);
    clusters.push(element([0x1f, 0x43, 0xb6, 0x75], joined(...blocks)));
  }
  const segment = element([0x18, 0x53, 0x80, 0x67], joined(info, tracks, ...clusters));
  return new Blob([head as BlobPart, segment as BlobPart], { type: "video/webm" });
}

export interface Film {
  width: number;
  height: number;
  /** Pictures per second. */
  rate: number;
  count: number;
  draw(picture: number): HTMLCanvasElement;
  /** Called after every picture; false stops. */
  progress?(picture: number): boolean;
}

export const canFilm = () => typeof VideoEncoder === "function";

export async function film({ width, height, rate, count, draw, progress }: Film): Promise<Blob> {
  const pictures: Picture[] = [];
  let failure: Error | null = null;
  const encoder = new VideoEncoder({
    output: (chunk) => {
      const bytes = new Uint8Array(chunk.byteLength);
      chunk.copyTo(bytes);
      pictures.push({ bytes, at: chunk.timestamp / 1000, isKey: chunk.type === "key" });
    },
    error: (error) => (failure = error),
  });
  const isSharp = (await VideoEncoder.isConfigSupported({ codec: "vp09.00.10.08", width, height })).supported === true;
  encoder.configure({ codec: isSharp ? "vp09.00.10.08" : "vp8", width, height, bitrate: Math.max(400_000, 4 * width * height), framerate: rate, latencyMode: "quality" });
  for (let i = 0; i < count && failure === null; ++i) {
    const frame = new VideoFrame(draw(i), { timestamp: Math.round((i * 1e6) / rate), duration: Math.round(1e6 / rate) });
    encoder.encode(frame, { keyFrame: i % 60 === 0 });
    frame.close();
    if (progress && !progress(i)) break;
    while (encoder.encodeQueueSize > 4) await new Promise((resolve) => setTimeout(resolve, 2));
    if (i % 4 === 3) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await encoder.flush();
  encoder.close();
  if (failure) throw failure;
  return webm(pictures, width, height, (pictures.length * 1000) / rate, isSharp ? "V_VP9" : "V_VP8");
}
