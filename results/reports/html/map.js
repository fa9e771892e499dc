// map.js — The whole cluster at the cursor's time: a cell a rank, a box a node, sixteen thousand if need be.
"use strict";

class ClusterMap {
  constructor(run, decoded) {
    Object.assign(this, { run, ...decoded });
    this.canvas = element("canvas", { class: "map", role: "img",
      "aria-label": `Map of ${run.world} ranks; the table of ranks holds the same` });
    this.caption = element("p", { class: "status" });
    this.node = element("div", {}, element("h2", {}, "The cluster"), this.canvas, this.caption);
    this.rowOf = new Int32Array(Math.max(run.world, 1)).fill(-1);
    this.rows.forEach((row, i) => {
      for (const [first, last] of row.ranges) this.rowOf.fill(i, first, last + 1);
    });
    this.canvas.addEventListener("pointermove", (event) => this.tell(event));
    this.canvas.addEventListener("pointerleave", () => tip.hide());
  }

  // Nodes side by side, as many in a line as make the cells largest.
  layout() {
    const width = this.canvas.clientWidth || 400, most = 300;
    const { world } = this.run;
    const perNode = Math.max(1, this.run.per_node), nodes = Math.ceil(world / perNode);
    let columns = Math.ceil(Math.sqrt(perNode));
    while (perNode % columns !== 0) ++columns;
    const lines = perNode / columns;
    let best = { cell: 0 };
    for (let across = 1; across <= nodes; ++across) {
      const down = Math.ceil(nodes / across);
      const space = nodes > 300 ? 1 : nodes > 40 ? 3 : 6;
      const wide = (width - across * space) / (across * columns);
      const high = (most - down * space) / (down * lines);
      const cell = Math.min(wide, high, 30);
      if (cell >= best.cell) best = { cell, across, down, space, columns, lines, perNode };
    }
    this.grid = best;
    this.height = Math.ceil(best.down * (best.lines * best.cell + best.space));
    return width;
  }

  place(rank) {
    const { cell, across, space, columns, lines, perNode } = this.grid;
    const node = Math.floor(rank / perNode), inside = rank % perNode;
    return {
      x: (node % across) * (columns * cell + space) + (inside % columns) * cell,
      y: Math.floor(node / across) * (lines * cell + space) + Math.floor(inside / columns) * cell,
    };
  }

  draw(time) {
    this.time = time ?? this.run.until;
    const width = this.layout(), ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d"), palette = new Palette();
    context.scale(ratio, ratio);
    const states = this.rows.map((row) => stateAt(row, this.kinds, this.time));
    const counts = new Map();
    const { cell } = this.grid, line = cell > 5 ? 1 : 0;
    for (let rank = 0; rank < this.run.world; ++rank) {
      const state = this.rowOf[rank] < 0 ? "other" : states[this.rowOf[rank]];
      counts.set(state, (counts.get(state) ?? 0) + 1);
      const { x, y } = this.place(rank);
      context.fillStyle = palette.color(state);
      context.fillRect(x, y, cell - line, cell - line);
      if (cell < 22) continue;
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = ["gone", "collective", "p2p"].includes(state) ? "#fff" : palette.ink;
      context.fillText(String(rank), x + 4, y + cell - 7);
    }
    for (const rank of this.run.suspects) this.ring(context, palette, rank);
    const words = Object.fromEntries(groups);
    this.caption.textContent = `at ${exactTime(this.time)}: ` + [...counts].sort((a, b) => b[1] - a[1])
      .map(([state, count]) => `${count.toLocaleString("en")} ${words[state] ?? "between calls"}`)
      .join(" · ");
  }

  ring(context, palette, rank) {
    const { x, y } = this.place(rank), { cell } = this.grid;
    const reach = Math.max(0, 5 - cell / 2);
    context.strokeStyle = palette.fail;
    context.lineWidth = 2;
    context.strokeRect(x - reach, y - reach, cell + 2 * reach - 1, cell + 2 * reach - 1);
  }

  tell(event) {
    const box = this.canvas.getBoundingClientRect();
    const { cell, across, space, columns, lines, perNode } = this.grid;
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const wide = columns * cell + space, high = lines * cell + space;
    const node = Math.floor(y / high) * across + Math.min(Math.floor(x / wide), across - 1);
    const inside = Math.floor((y % high) / cell) * columns + Math.floor((x % wide) / cell);
    const rank = node * perNode + inside;
    if (inside >= perNode || rank >= this.run.world || rank < 0) return tip.hide();
    const row = this.rows[this.rowOf[rank]];
    const state = row ? stateAt(row, this.kinds, this.time) : "other";
    tip.show(event.clientX, event.clientY, element("b", {}, `rank ${rank}, node ${node}`),
      Object.fromEntries(groups)[state] ?? "between calls");
  }
}
