// pointing.js — Mouse, fingers and keys on the timeline, and what it says of the point they mean.
"use strict";

Object.assign(TimelineView.prototype, {
  listen() {
    const { canvas } = this;
    let drag = null;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointerdown", (event) => {
      drag = at(event).x;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => (drag = null));
    canvas.addEventListener("pointermove", (event) => {
      const { x, y } = at(event);
      if (drag !== null && event.buttons) {
        this.axis.pan(drag - x);
        drag = x;
      }
      this.point(Math.max(x, gutter), y);
      this.showTip(event.clientX, event.clientY, y);
    });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.shiftKey) this.axis.pan(event.deltaY + event.deltaX);
      else this.axis.zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event).x);
      this.draw();
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => {
      this.axis.zoom(0.25, at(event).x);
      this.draw();
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  },

  key(event) {
    const nudge = this.axis.pixels / (event.shiftKey ? 4 : 40);
    const acts = {
      ArrowLeft: () => this.moveCursor(-nudge),
      ArrowRight: () => this.moveCursor(nudge),
      ArrowUp: () => this.moveRow(-1),
      ArrowDown: () => this.moveRow(1),
      "+": () => this.axis.zoom(0.6, this.middle()),
      "=": () => this.axis.zoom(0.6, this.middle()),
      "-": () => this.axis.zoom(1.7, this.middle()),
      0: () => this.axis.reset(),
      f: () => this.nextFlag(),
      F: () => this.nextFlag(),
      "[": () => (this.rowZoom = Math.max(1, this.rowZoom / 1.6)),
      "]": () => (this.rowZoom = Math.min(64, this.rowZoom * 1.6)),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    this.draw();
    if (event.key.toLowerCase() !== "f") this.say();
  },

  moveCursor(pixels) {
    const x = (this.cursor === null ? gutter : this.axis.x(this.cursor)) + pixels;
    const edge = gutter + this.axis.pixels;
    if (x < gutter) this.axis.pan(x - gutter);
    if (x > edge) this.axis.pan(x - edge);
    this.setCursor(this.axis.time(Math.min(Math.max(x, gutter), edge)));
  },
  moveRow(by) {
    const rows = this.focus.length + (this.few ? 0 : this.rows.length);
    this.pointed = Math.min(Math.max(this.pointed + by, 0), rows - 1);
    const place = this.places[this.pointed - this.focus.length];
    if (place && place.y < this.rowsTop) this.rowScroll -= this.rowsTop - place.y;
    const bottom = this.rowsTop + this.rowsHeight;
    if (place && place.next > bottom) this.rowScroll += place.next - bottom;
    if (this.cursor === null) this.cursor = 0;
  },
  nextFlag() {
    const flags = this.flags;
    if (flags.length === 0) return;
    const next = flags.find((flag) => this.cursor === null || flag.t > this.cursor + 0.5) ?? flags[0];
    const span = (this.run.last - 0) / 20 || this.run.until / 20;
    this.axis.frame(next.t - span, next.t + span / 2);
    this.setCursor(next.t);
    this.status.textContent = `${exactTime(next.t)} · ${next.says}`;
  },

  rowAt(y) {
    const focus = Math.floor((y - axisHeight - flagHeight) / (focusHeight + 3));
    if (y >= axisHeight + flagHeight && focus < this.focus.length) return focus;
    const i = this.places.findIndex((place) => y >= place.y && y < place.next);
    const outside = y < this.rowsTop || y > this.rowsTop + this.rowsHeight;
    return this.few || i < 0 || outside ? -1 : this.focus.length + i;
  },
  rowNumber(i) {
    return i < this.focus.length ? this.focus[i] : this.rows[i - this.focus.length];
  },

  point(x, y) {
    const row = this.rowAt(y);
    if (row >= 0) this.pointed = row;
    this.setCursor(this.axis.time(x));
  },
  setCursor(time) {
    this.cursor = time;
    this.draw();
    this.onCursor(time);
  },

  // What the pointed rank did then: [heading, line, line].
  words(row, time) {
    const found = sliceAt(row, this.kinds, time);
    const told = (i) => {
      const kind = this.kinds[row.kind[i]];
      const name = sliceName(kind, row.number[i]);
      const length = row.end[i] < 0 ? "never ended" : timeText(row.end[i] - row.begin[i]);
      return `${name}${kind.detail ? ` (${kind.detail})` : ""}: since ${exactTime(row.begin[i])}, ${length}`;
    };
    const lines = [found.call, found.work].filter((i) => i >= 0).map(told);
    if (found.step >= 0) lines.push(`step ${row.number[found.step]}`);
    const reach = (this.axis.right - this.axis.left) / this.axis.pixels * 6;
    for (let i = 0; i < row.kind.length; ++i) {
      const kind = this.kinds[row.kind[i]];
      const near = kind.lane === 3 && Math.abs(row.begin[i] - time) < reach;
      if (near) lines.unshift(`${kind.label} ${kind.detail}`.trim());
    }
    if (lines.length === 0) lines.push("nothing that it told of");
    return [`${ranksText(row.ranges, 6)} at ${exactTime(time)}`, ...lines];
  },
  say() {
    if (this.cursor === null) return;
    this.status.textContent = this.words(this.rowNumber(this.pointed), this.cursor).join(" · ");
  },
  showTip(x, y, inside) {
    const near = this.flags.find((flag) => Math.abs(this.axis.x(flag.t) - this.axis.x(this.cursor)) < 4);
    const row = this.rowAt(inside);
    if (near && inside < this.rowsTop - gap) {
      tip.show(x, y, element("b", {}, `${near.sort} at ${exactTime(near.t)}`), near.says);
    } else if (row >= 0) {
      const [heading, ...lines] = this.words(this.rowNumber(row), this.cursor);
      tip.show(x, y, element("b", {}, heading), ...lines.map((line) => element("div", {}, line)));
    } else {
      tip.hide();
    }
    this.say();
  },
});

// The lowest and highest value of all ranks, by step.
function drawCounter(context, view, points, name) {
  const top = view.rowsTop + view.rowsHeight + gap, height = counterHeight - 8;
  const shown = points.filter((p) => p[2] !== null);
  const low = Math.min(...shown.map((p) => p[2])), high = Math.max(...shown.map((p) => p[3]));
  const y = (value) => top + height - ((value - low) / (high - low || 1)) * height;
  const { palette, axis } = view;
  context.save();
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = palette.ink;
  context.fillText(name, 10, top + 14);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = palette.dim;
  context.fillText(`${low.toPrecision(3)} … ${high.toPrecision(3)}`, 10, top + 29);
  context.beginPath();
  context.rect(axis.x0, top - 3, axis.pixels, height + 6);
  context.clip();
  context.beginPath();
  shown.forEach((p, i) => context[i ? "lineTo" : "moveTo"](axis.x(p[1]), y(p[3])));
  [...shown].reverse().forEach((p) => context.lineTo(axis.x(p[1]), y(p[2])));
  context.fillStyle = palette.unknown;
  context.globalAlpha = 0.35;
  context.fill();
  context.globalAlpha = 1;
  context.beginPath();
  shown.forEach((p, i) => context[i ? "lineTo" : "moveTo"](axis.x(p[1]), y((p[2] + p[3]) / 2)));
  context.strokeStyle = palette.link;
  context.lineWidth = 1.5;
  context.stroke();
  for (const p of points.filter((one) => !one[4])) {
    context.fillStyle = palette.fail;
    context.fillText("NaN", axis.x(p[1]) - 8, top + 12);
  }
  context.restore();
}
