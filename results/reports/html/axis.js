// axis.js — Time across the page. A hang is hours of nothing: long silences are drawn short, hatched
// and with their true length written on them; a switch gives the true scale back.
"use strict";

class Axis {
  // `moments`: all times at which something begins or ends; `until`: the end of observation.
  constructor(moments, until) {
    this.until = Math.max(until, 1);
    this.times = [...new Set([0, ...moments, this.until])].filter((t) => t >= 0 && t <= this.until);
    this.times.sort((a, b) => a - b);
    this.setBroken(true);
  }

  setBroken(broken) {
    this.broken = broken;
    const whole = { from: 0, to: this.until, start: 0, width: this.until, gap: false };
    this.pieces = broken ? this.brokenPieces() : [whole];
    const last = this.pieces[this.pieces.length - 1];
    this.length = last.start + last.width;
    this.reset();
  }

  // Silences are long when they stand out: few, and each several times the longest of those that remain.
  longSilences() {
    const silences = [];
    for (let i = 1; i < this.times.length; ++i) {
      silences.push([this.times[i] - this.times[i - 1], this.times[i - 1], this.times[i]]);
    }
    silences.sort((a, b) => b[0] - a[0]);
    let rest = this.until, all = this.until, count = 0;
    for (let i = 0; i < Math.min(6, silences.length - 1); ++i) {
      all -= silences[i][0];
      const standsOut = silences[i][0] > 5 * silences[i + 1][0] && silences[i][0] > all / 8;
      if (standsOut) (count = i + 1), (rest = all);
    }
    return { long: silences.slice(0, count).sort((a, b) => a[1] - b[1]), rest };
  }

  brokenPieces() {
    const { long, rest } = this.longSilences();
    const short = Math.max(rest * 0.14, 1);
    const pieces = [];
    let at = 0, start = 0;
    const add = (from, to, width, gap) => {
      if (to > from) pieces.push({ from, to, start, width, gap }), (start += width);
    };
    for (const [, from, to] of long) {
      const edge = Math.min((to - from) * 0.02, rest * 0.02);
      add(at, from + edge, from + edge - at, false);
      add(from + edge, to - edge, short, true);
      at = to - edge;
    }
    add(at, this.until, this.until - at, false);
    return pieces;
  }

  reset() {
    this.left = 0;
    this.right = this.length;
  }

  resize(x0, width) {
    this.x0 = x0;
    this.pixels = width;
  }

  place(time) {
    const piece = this.pieces.find((one) => time <= one.to) ?? this.pieces[this.pieces.length - 1];
    return piece.start + ((time - piece.from) / (piece.to - piece.from)) * piece.width;
  }
  x(time) {
    return this.x0 + ((this.place(time) - this.left) / (this.right - this.left)) * this.pixels;
  }
  time(x) {
    const place = this.left + ((x - this.x0) / this.pixels) * (this.right - this.left);
    const piece =
      this.pieces.find((one) => place <= one.start + one.width) ?? this.pieces[this.pieces.length - 1];
    const time = piece.from + ((place - piece.start) / piece.width) * (piece.to - piece.from);
    return Math.min(Math.max(time, 0), this.until);
  }

  zoom(factor, x) {
    const middle = this.left + ((x - this.x0) / this.pixels) * (this.right - this.left);
    const span = Math.min(Math.max((this.right - this.left) * factor, 20), this.length);
    const share = (middle - this.left) / (this.right - this.left);
    this.show(middle - share * span, span);
  }
  pan(pixels) {
    this.show(this.left + (pixels / this.pixels) * (this.right - this.left), this.right - this.left);
  }
  show(left, span) {
    this.left = Math.min(Math.max(left, 0), this.length - span);
    this.right = this.left + span;
  }
  // Both times in sight, with some room around them.
  frame(from, to) {
    const a = this.place(Math.max(from, 0)), b = this.place(Math.min(to, this.until));
    const span = Math.min(Math.max((b - a) * 1.15, 20), this.length);
    this.show((a + b) / 2 - span / 2, span);
  }
  get zoomed() {
    return this.right - this.left < this.length * 0.999;
  }

  // [{x, text}] for what is in sight, and [{from, to, text}] for the silences.
  ticks() {
    const ticks = [], silences = [];
    for (const piece of this.pieces) {
      const from = Math.max(this.x(piece.from), this.x0);
      const to = Math.min(this.x(piece.to), this.x0 + this.pixels);
      if (to - from < 2) continue;
      if (piece.gap) {
        silences.push({ from, to, text: timeText(piece.to - piece.from) });
        continue;
      }
      const perPixel = (piece.to - piece.from) / (this.x(piece.to) - this.x(piece.from));
      const raw = perPixel * 96, base = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw);
      const first = Math.ceil(this.time(from + 0.01) / step) * step;
      for (let t = first; t <= this.time(to); t += step) {
        const x = this.x(t);
        const room = ticks.length === 0 || x - ticks[ticks.length - 1].x > 70;
        if (room) ticks.push({ x, text: timeText(t, step) });
      }
    }
    return { ticks, silences };
  }
}
