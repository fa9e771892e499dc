// waits.js — Who waits for whom, as boxes and arrows: the root of a standstill stands at the left.
"use strict";

function waitGraph(waits) {
  const at = waits.at === undefined ? "" : ` at ${exactTime(waits.at)}`;
  const title = `Who waited for whom${at}`;
  if (waits.groups.length === 0) {
    return element("div", {}, element("h2", {}, title),
      element("p", { class: "dim" }, waits.shortest
        ? `No rank had waited for ${timeText(waits.shortest)} or longer.` : "No rank was in a call."), toldWaits(waits));
  }
  const depth = depthsOf(waits);
  const columns = [];
  waits.groups.forEach((group, i) => (columns[depth[i]] ??= []).push(i));
  const lines = Math.max(...columns.map((column) => column.length));
  const wide = 214, high = 62, across = 262, down = 76;
  const width = (columns.length - 1) * across + wide + 30, height = lines * down;
  const place = [];
  columns.forEach((column, c) => column.forEach((i, line) => {
    place[i] = { x: 2 + c * across, y: ((lines - column.length) / 2 + line) * down + 4 };
  }));
  const graph = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": waits.groups.map(groupWords).join("; ") });
  graph.append(drawing("defs", {}, drawing("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4,
    markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" },
    drawing("path", { class: "head", d: "M0 0L8 4L0 8z" }))));
  for (const [from, to] of waits.arrows) graph.append(arrow(place[from], place[to], wide, high, from === to));
  waits.groups.forEach((group, i) => graph.append(box(group, place[i], wide, high)));
  const rest = waits.left_out ? element("p", { class: "dim" }, `and ${waits.left_out} more groups`) : null;
  return element("div", {}, element("h2", {}, title),
    element("div", { class: "scroll" }, graph), rest, toldWaits(waits));
}

const groupWords = (group) =>
  `${ranksText(rangesOf(group.ranks))} ${group.state === "root" ? "" : "in "}${group.says}`;

// Distance from those who wait for nobody; of a circle without such, from the member that most wait for.
function depthsOf(waits) {
  const depth = waits.groups.map((group) => (group.state === "root" ? 0 : -1));
  const spread = () => {
    for (let changed = true; changed;) {
      changed = false;
      for (const [from, to] of waits.arrows) {
        if (depth[to] >= 0 && depth[from] < 0) (depth[from] = depth[to] + 1), (changed = true);
      }
    }
  };
  const awaited = waits.groups.map((_, i) => waits.arrows.filter(([, to]) => to === i).length);
  for (spread(); depth.includes(-1); spread()) {
    const left = depth.flatMap((one, i) => (one < 0 ? [i] : []));
    depth[left.reduce((a, b) => (awaited[b] > awaited[a] ? b : a))] = 0;
  }
  return depth;
}

function box(group, { x, y }, wide, high) {
  const rest = group.detail ? ` · ${group.detail}` : "";
  const line = (text, below, kind) =>
    drawing("text", { x: x + 12, y: y + below, class: kind }, shortened(text, 32));
  const name = shortened(ranksText(rangesOf(group.ranks), 2), 30);
  return drawing("g", {}, drawing("title", {}, `${groupWords(group)}${rest}`),
    drawing("rect", { x, y, width: wide, height: high, rx: 8, class: `box ${group.state}` }),
    drawing("text", { x: x + 12, y: y + 21, "font-weight": 600 }, name),
    line(group.state === "root" ? group.says : `waits in ${group.says}`, 38, ""),
    line(group.state === "root" ? "is waited for" : `since ${exactTime(group.since)}${rest}`, 54, "dim"));
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// To the left towards a root; beside the column to a neighbour in it; over the box to itself.
function arrow(from, to, wide, high, itself) {
  const path = (d) => drawing("path", { class: "arrow", "marker-end": "url(#head)", d });
  if (itself) return path(`M${from.x + wide - 40} ${from.y} c 0 -14 30 -14 30 0`);
  const left = to.x < from.x, right = to.x > from.x;
  const x1 = left ? from.x : from.x + wide, y1 = from.y + high / 2;
  const x2 = right ? to.x : to.x + wide, y2 = to.y + high / 2 + (left || right ? 0 : 9);
  const bend = left || right ? (x2 - x1) / 2 : 44;
  return path(`M${x1} ${y1} C ${x1 + bend} ${y1}, ${left || right ? x2 - bend : x2 + bend} ${y2}, ${x2} ${y2}`);
}

function toldWaits(waits) {
  if (!waits.told?.length) return "";
  return element("details", {}, element("summary", {}, "In the simulator's own words"),
    element("ul", {}, waits.told.slice(0, 60).map(([ranks, words]) =>
      element("li", {}, element("b", {}, ranksText(rangesOf(ranks))), ` ${words}`))));
}
