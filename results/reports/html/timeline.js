// timeline.js — Ranks by time. Above, enlarged: the suspects and a few peers; below, every rank, those that
// did the same at the same time folded into one row, thicker the more they are; last the loss.
"use strict";

const gutter = 132, axisHeight = 24, flagHeight = 20, focusHeight = 30, counterHeight = 46, gap = 10;

class TimelineView {
  constructor(run, decoded, onCursor) {
    Object.assign(this, { run, ...decoded, onCursor });
    this.cursor = null;
    this.pointed = 0;
    this.rowZoom = 1;
    this.rowScroll = 0;
    this.chooseFocus();
    this.axis = new Axis(this.moments(), run.until);
    this.build();
  }

  // Every boundary of few rows, and of many those of the suspects and a sample.
  moments() {
    const times = [];
    const every = Math.max(1, Math.floor(this.rows.length / 48));
    this.rows.forEach((row, i) => {
      if (i % every !== 0 && !this.focus.includes(row)) return;
      for (let s = 0; s < row.begin.length; ++s) {
        times.push(row.begin[s]);
        if (row.end[s] >= 0) times.push(row.end[s]);
      }
    });
    for (const flag of [...this.run.marks, ...this.run.alarms]) times.push(flag.t);
    return times.map((t) => Math.round(t / 100) * 100);
  }

  chooseFocus() {
    const suspects = this.run.suspects;
    const suspect = (row) => suspects.some((rank) => holds(row.ranges, rank));
    this.suspects = this.rows.filter(suspect);
    this.few = this.rows.length <= 12;
    if (this.few) return void (this.focus = this.rows);
    const nearest = (row) => Math.min(...suspects.map((rank) => Math.abs(row.ranges[0][0] - rank)), 1e9);
    const others = this.rows.filter((row) => !suspect(row)).sort((a, b) => nearest(a) - nearest(b));
    const most = this.suspects.length === 0 ? 4 : Math.max(2, 5 - this.suspects.length);
    this.peers = others.slice(0, most);
    this.focus = [...this.suspects, ...this.peers];
  }

  build() {
    this.canvas = element("canvas", {
      tabindex: "0", role: "img",
      "aria-label": `Timeline of ${this.run.world} ranks over ${timeText(this.run.until)}. ` +
        "Arrow keys move, plus and minus zoom, F goes to the next fault or alarm. " +
        "The table below holds the same.",
    });
    this.status = element("p", { class: "status", "aria-live": "polite" });
    this.scale = element("button", { type: "button", "aria-pressed": "false" }, "True time scale");
    this.scale.addEventListener("click", () => this.switchScale());
    const button = (text, act) =>
      element("button", { type: "button", onclick: () => (act(), this.draw()) }, text);
    this.node = element("div", {},
      element("div", { class: "tools" },
        element("h2", { style: "margin:0" }, this.headline()), element("span", { class: "grow" }),
        button("Next event", () => this.nextFlag()), button("+", () => this.axis.zoom(0.5, this.middle())),
        button("−", () => this.axis.zoom(2, this.middle())), button("All", () => this.axis.reset()),
        this.scale),
      this.canvas, this.status, this.legend());
    this.listen();
  }

  headline() {
    const { world, nodes, rows } = this.run;
    const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
    let text = `${counted(world, "rank")} on ${counted(nodes, "node")}`;
    if (this.rows.length < world) text += `, in ${counted(this.rows.length, "row")}`;
    if (rows.tolerance > 1) text += `, alike to within ${timeText(rows.tolerance)}`;
    if (rows.tolerance < 0) text += ", alike in what they did, not in when";
    if (rows.left_out) text += ` · left out: ${ranksText(rangesOf(rows.left_out))}`;
    return text;
  }

  legend() {
    const seen = new Set();
    for (const row of this.rows) {
      for (let i = 0; i < row.kind.length; ++i) {
        const kind = this.kinds[row.kind[i]];
        seen.add(kind.lane === 2 && row.end[i] < 0 ? "stuck" : kind.group);
      }
    }
    return element("div", { class: "legend" },
      groups.filter(([group]) => seen.has(group)).map(([group, words]) =>
        element("span", {}, element("i", { style: `background:var(--s-${group})` }), words)),
      element("span", {}, "scroll + Ctrl zooms, drag moves; keys: ",
        [..."←→+−F↑↓[]0"].map((key) => element("kbd", {}, key))));
  }

  layout() {
    const width = this.canvas.clientWidth || 900;
    this.axis.resize(gutter, width - gutter - 12);
    const weight = this.rows.map((row) => 1 + Math.log2(row.count) * 0.6);
    const total = weight.reduce((a, b) => a + b, 0);
    const natural = this.few ? 0 : Math.min(Math.max(total * 16, 40), 420);
    this.rowsTop = axisHeight + flagHeight + this.focus.length * (focusHeight + 3) + (this.few ? 0 : gap);
    this.rowsHeight = natural;
    const per = (natural / total) * this.rowZoom;
    this.rowScroll = Math.min(Math.max(this.rowScroll, 0), Math.max(0, per * total - natural));
    let y = this.rowsTop - this.rowScroll;
    this.places = weight.map((w) => ({ y, height: per * w, next: (y += per * w) }));
    this.counters = this.run.counters.loss.filter((p) => p[2] !== null).length > 1 ? counterHeight : 0;
    this.height = this.rowsTop + natural + gap + this.counters;
    this.width = width;
  }

  draw() {
    this.layout();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.palette = new Palette();
    const painter = new RowPainter(context, this.axis, this.kinds, this.palette);
    this.drawAxis(context);
    this.focus.forEach((row, i) => this.drawFocus(context, painter, row, i));
    this.drawRows(context, painter);
    if (this.counters) drawCounter(context, this, this.run.counters.loss, "loss");
    this.drawFlags(context);
    this.drawCursor(context);
  }

  drawAxis(context) {
    const { ticks, silences } = this.axis.ticks();
    const { palette } = this;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (const { from, to, text } of silences) {
      context.fillStyle = hatch(context, palette.soft, palette.line, 9);
      context.fillRect(from, 4, to - from, axisHeight - 6);
      context.fillStyle = palette.dim;
      const words = `… ${text} …`;
      if (to - from > context.measureText(words).width + 8) context.fillText(words, (from + to) / 2, 17);
    }
    for (const { x, text } of ticks) {
      context.fillStyle = palette.line;
      context.fillRect(x, axisHeight - 4, 1, this.height - axisHeight);
      context.fillStyle = palette.dim;
      const half = context.measureText(text).width / 2 + 2;
      const covered = silences.some((one) => x + half > one.from && x - half < one.to);
      if (!covered && x + half < this.width) context.fillText(text, x, 16);
    }
    context.textAlign = "left";
  }

  drawFocus(context, painter, row, i) {
    const y = axisHeight + flagHeight + i * (focusHeight + 3);
    const { palette } = this;
    const blamed = this.suspects.includes(row);
    context.fillStyle = palette.soft;
    context.fillRect(gutter, y, this.axis.pixels, focusHeight);
    painter.paint(row, y, focusHeight);
    if (blamed) {
      context.fillStyle = palette.fail;
      context.fillRect(0, y, 3, focusHeight);
    }
    context.font = `${blamed ? "600 " : ""}12px system-ui, sans-serif`;
    context.fillStyle = blamed ? palette.fail : palette.ink;
    fitText(context, ranksText(row.ranges, 2, false), 10, y + 13, gutter - 16);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.dim;
    const words = [blamed ? "suspect" : this.few ? "" : "peer",
      row.count > 1 ? `${row.count.toLocaleString("en")} ranks` : ""].filter((word) => word);
    fitText(context, words.join(" · "), 10, y + 26, gutter - 16);
  }

  drawRows(context, painter) {
    if (this.few) return;
    const { palette, places, rows } = this;
    context.save();
    context.beginPath();
    context.rect(0, this.rowsTop, this.width, this.rowsHeight);
    context.clip();
    context.fillStyle = palette.soft;
    context.fillRect(gutter, this.rowsTop, this.axis.pixels, this.rowsHeight);
    // Suspects last: thin as they may be, nobody paints over them.
    const blamed = (i) => Number(this.suspects.includes(rows[i]));
    const order = rows.map((row, i) => i).sort((a, b) => blamed(a) - blamed(b));
    let labelled = -100;
    for (const i of order) {
      const suspect = this.suspects.includes(rows[i]);
      const height = Math.max(places[i].height - (places[i].height > 5 ? 1 : 0), suspect ? 2.5 : 1);
      if (places[i].y + height < this.rowsTop || places[i].y > this.rowsTop + this.rowsHeight) continue;
      painter.paint(rows[i], places[i].y, height);
      if (suspect) {
        context.fillStyle = palette.fail;
        context.fillRect(gutter - 5, places[i].y, 3, height);
      }
      if (height < 10 && !(suspect && Math.abs(places[i].y - labelled) > 12)) continue;
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = suspect ? palette.fail : palette.dim;
      fitText(context, ranksText(rows[i].ranges, 2), 10, places[i].y + height / 2 + 4, gutter - 18);
      labelled = places[i].y;
    }
    context.restore();
    context.fillStyle = palette.dim;
  }

  get flags() {
    return [
      ...this.run.marks.map((one) =>
        ({ ...one, sort: "fault", glyph: one.kind === "fault.reverted" ? "↩" : "⚡" })),
      ...this.run.alarms.map((one) => ({ ...one, sort: "alarm", glyph: "▲" })),
    ].sort((a, b) => a.t - b.t);
  }

  drawFlags(context) {
    const { palette } = this;
    context.font = "12px system-ui, sans-serif";
    let freeFrom = 0;
    for (const flag of this.flags) {
      const x = this.axis.x(flag.t);
      if (x < gutter - 1 || x > this.width) continue;
      const color = flag.sort === "fault" ? palette.fail : palette.unknown;
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.setLineDash(flag.sort === "fault" ? [] : [4, 3]);
      context.beginPath();
      context.moveTo(x, axisHeight);
      context.lineTo(x, this.height - 2);
      context.stroke();
      context.setLineDash([]);
      const what = flag.sort === "fault" ? flag.kind.replace("fault.", "fault ") : "alarm";
      const words = `${flag.glyph} ${what}`;
      const wide = context.measureText(words).width;
      const at = x + wide + 6 > this.width ? x - wide - 5 : x + 5;
      context.fillStyle = color;
      const free = Math.max(at, freeFrom);
      if (free + wide > this.width) continue;
      context.fillText(words, free, axisHeight + 13);
      freeFrom = free + wide + 6;
    }
  }

  drawCursor(context) {
    if (this.cursor === null) return;
    const x = this.axis.x(this.cursor);
    if (x < gutter || x > this.width) return;
    context.fillStyle = this.palette.ink;
    context.fillRect(x - 0.5, axisHeight, 1, this.height);
  }

  switchScale() {
    this.axis.setBroken(!this.axis.broken);
    this.scale.setAttribute("aria-pressed", String(!this.axis.broken));
    this.draw();
  }
  middle() {
    return this.cursor !== null ? this.axis.x(this.cursor) : gutter + this.axis.pixels / 2;
  }
}

function fitText(context, text, x, y, width) {
  let shown = text;
  while (shown.length > 3 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  context.fillText(shown, x, y);
}
