// paint.js — Rows onto a canvas: what is drawn for a slice, in the theme's colours, from one pixel up.
"use strict";

const groups = [
  ["forward", "forward"], ["backward", "backward"], ["optimizer", "optimizer"], ["data", "data"],
  ["reduce", "reduce"], ["checkpoint", "checkpoint"], ["serve", "serve"], ["setup", "setup"],
  ["meeting", "rendezvous, comm_init"], ["collective", "collective"], ["p2p", "send, recv"],
  ["stuck", "call that never ended"], ["error", "error"], ["gone", "exited"], ["finished", "finished"],
];

class Palette {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.of = {};
    for (const [group] of groups) this.of[group] = read(`--s-${group}`);
    for (const name of ["ink", "dim", "line", "soft", "panel", "fail", "link", "unknown"]) {
      this[name] = read(`--${name}`);
    }
    this.other = read("--s-other");
    this.stuckLine = read("--s-stuck-line");
  }
  color(group) {
    return this.of[group] ?? this.other;
  }
}

// Diagonal lines in a small tile, for what must be told apart without colour too.
function hatch(context, ground, line, size = 7) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const paper = tile.getContext("2d");
  paper.fillStyle = ground;
  paper.fillRect(0, 0, size, size);
  paper.strokeStyle = line;
  paper.lineWidth = 1.2;
  paper.beginPath();
  for (const shift of [-size, 0, size]) {
    paper.moveTo(shift, size);
    paper.lineTo(shift + size, 0);
  }
  paper.stroke();
  return context.createPattern(tile, "repeat");
}

class RowPainter {
  constructor(context, axis, kinds, palette) {
    Object.assign(this, { context, axis, kinds, palette });
    this.stuck = hatch(context, palette.of.stuck, palette.stuckLine);
  }

  // Thin rows show one thing at a time, calls over work; thick ones show calls below work.
  paint(row, y, height) {
    const thick = height >= 12;
    this.full = height;
    this.lane(row, 1, y, height);
    this.lane(row, 2, thick ? y + height * 0.48 : y, thick ? height * 0.52 : height);
    this.instants(row, y, height);
    if (thick) this.steps(row, y, height);
  }

  // Slices that share a pixel are drawn once: a row of millions costs as much as the screen is wide.
  lane(row, lane, y, height) {
    const { context, axis, kinds, palette } = this;
    const left = axis.x0, right = axis.x0 + axis.pixels;
    let drawnTo = -1, drawnColor = null;
    for (let i = 0; i < row.kind.length; ++i) {
      const kind = kinds[row.kind[i]];
      if (kind.lane !== lane) continue;
      const open = row.end[i] < 0;
      const x = axis.x(row.begin[i]);
      const end = open ? right : axis.x(row.end[i]);
      if (end < left || x > right) continue;
      const never = open && lane === 2;
      const color = never ? "stuck" : kind.group;
      if (end <= drawnTo && color === drawnColor) continue;
      const from = Math.max(x, left), to = Math.min(Math.max(end, x + 0.75), right);
      context.fillStyle = never && height >= 3 ? this.stuck : palette.color(color);
      context.fillRect(from, y, to - from, height);
      drawnTo = to;
      drawnColor = color;
      const half = lane === 1 ? this.full * 0.48 : height;
      if (half >= 13 && to - from > 40) this.label(kind, row, i, from, to, y, half, color);
    }
  }

  label(kind, row, i, from, to, y, height, color) {
    const { context } = this;
    const text = sliceName(kind, row.number[i]);
    context.save();
    context.beginPath();
    context.rect(from + 4, y, to - from - 8, height);
    context.clip();
    context.font = "11px system-ui, sans-serif";
    const wide = context.measureText(text).width;
    if (color === "stuck") {
      context.fillStyle = this.palette.of.stuck;
      context.fillRect(from + 2, y + 1, wide + 8, height - 2);
    }
    const dark = color === "gone" || color === "collective" || color === "p2p";
    context.fillStyle = dark ? "#fff" : this.palette.ink;
    if (wide < to - from - 4) context.fillText(text, from + 6, y + height / 2 + 3.5);
    context.restore();
  }

  instants(row, y, height) {
    const { context, axis, kinds, palette } = this;
    for (let i = 0; i < row.kind.length; ++i) {
      const kind = kinds[row.kind[i]];
      const x = axis.x(row.begin[i]);
      if (kind.lane !== 3 || x < axis.x0 || x > axis.x0 + axis.pixels) continue;
      context.fillStyle = palette.color(kind.group);
      if (height < 8) {
        context.fillRect(x - 0.5, y, 1.5, height);
        continue;
      }
      const size = Math.min(6, height / 3), middle = y + height / 2;
      context.beginPath();
      context.moveTo(x, middle - size);
      context.lineTo(x + size, middle);
      context.lineTo(x, middle + size);
      context.lineTo(x - size, middle);
      context.fill();
      context.strokeStyle = palette.panel;
      context.lineWidth = 1;
      context.stroke();
    }
  }

  steps(row, y, height) {
    const { context, axis, kinds, palette } = this;
    context.fillStyle = palette.panel;
    let before = -100;
    for (let i = 0; i < row.kind.length; ++i) {
      if (kinds[row.kind[i]].lane !== 0) continue;
      const x = axis.x(row.begin[i]);
      if (x - before < 7) continue;
      if (x >= axis.x0 && x <= axis.x0 + axis.pixels) context.fillRect(x - 0.5, y, 1, height);
      before = x;
    }
  }
}
