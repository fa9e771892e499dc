// decode.js — Rows back from their bytes; the format is told in results/reports/encode.h.
"use strict";

class Bytes {
  constructor(base64) {
    const text = atob(base64);
    this.bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) this.bytes[i] = text.charCodeAt(i);
    this.at = 0;
  }
  next() {
    let number = 0, scale = 1, byte = 0;
    do {
      byte = this.bytes[this.at++];
      number += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte & 0x80);
    return number;
  }
  nextSigned() {
    const number = this.next();
    return number % 2 ? -(number + 1) / 2 : number / 2;
  }
}

function shapesOf(base64, kinds) {
  const bytes = new Bytes(base64);
  return Array.from({ length: bytes.next() }, () => {
    const slices = bytes.next();
    const shape = { kind: new Uint32Array(slices), number: new Float64Array(slices) };
    const last = new Map();
    for (let i = 0; i < slices; ++i) {
      shape.kind[i] = bytes.next();
      const series = kinds[shape.kind[i]].series;
      shape.number[i] = (last.get(series) ?? 0) + bytes.nextSigned();
      last.set(series, shape.number[i]);
    }
    return shape;
  });
}

// A row: the ranks it stands for; of each slice kind, number, begin and end in microseconds (end -1: open).
function rowsOf(encoded) {
  const kinds = encoded.kinds.map(
    ([lane, group, label, detail, series]) => ({ lane, group, label, detail, series }));
  const shapes = shapesOf(encoded.shapes, kinds);
  const bytes = new Bytes(encoded.times);
  const rows = encoded.ranks.map((text) => {
    const { kind, number } = shapes[bytes.next()];
    const begin = new Float64Array(kind.length), end = new Float64Array(kind.length);
    let before = 0;
    for (let i = 0; i < kind.length; ++i) {
      begin[i] = before += bytes.next();
      const length = bytes.next();
      end[i] = length === 0 ? -1 : begin[i] + length - 1;
    }
    const ranges = rangesOf(text);
    return { ranges, count: countOf(ranges), kind, number, begin, end };
  });
  return { kinds, rows };
}

// What a rank did at a time: the call it was in, else its work, and what else was under way.
function sliceAt(row, kinds, time) {
  const found = { call: -1, work: -1, step: -1, instant: -1 };
  const names = ["step", "work", "call", "instant"];
  for (let i = 0; i < row.kind.length && row.begin[i] <= time; ++i) {
    const name = names[kinds[row.kind[i]].lane];
    if (name === "instant") continue;
    if (row.end[i] < 0 || time < row.end[i]) {
      if (name !== "call" || found.call < 0) found[name] = i;
    }
  }
  return found;
}

// The state that colours a rank in the map: gone, stuck, in a call, or the phase it works in.
function stateAt(row, kinds, time) {
  const found = sliceAt(row, kinds, time);
  const work = found.work >= 0 ? kinds[row.kind[found.work]].group : null;
  if (work === "gone" || work === "finished") return work;
  if (found.call >= 0) return row.end[found.call] < 0 ? "stuck" : kinds[row.kind[found.call]].group;
  return work ?? "other";
}
