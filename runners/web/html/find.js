// find.js — Sweep, shrink and probe: what the program found, as a heat map, a smaller scenario, and a curve.
"use strict";

const caughtSigns = { named: "●", noticed: "○", late: "◷", misnamed: "≠", missed: "✘", harmless: "·", untold: "?" };
const caughtWords = {
  named: "a culprit is blamed", noticed: "something rang and named nobody", late: "it rang too late",
  misnamed: "somebody else is blamed", missed: "harm in silence", harmless: "no harm and no alarm", untold: "unknown",
};
const badness = Object.fromEntries(["harmless", "named", "noticed", "late", "misnamed", "missed", "untold"]
  .map((name, i) => [name, i]));

// A row a fault, a column a moment; a cell shows its worst rank, and a click lists all of them.
function sweepMap(found) {
  const cells = found.cells.filter((cell) => caughtSigns[cell.caught]);
  const moment = (cell) => (cell.step < 0 ? "start" : `${cell.step}${cell.phase ? ` ${cell.phase}` : ""}`);
  const columns = [...new Map(cells.map((cell) => [moment(cell), cell])).values()]
    .sort((a, b) => a.step - b.step).map(moment);
  const rows = [...new Set(cells.map((cell) => cell.fault))];
  const told = element("div", { class: "told", role: "status" });
  const tell = (fault, column, here) => told.replaceChildren(
    element("h2", {}, `${idWords(fault)}, ${column === "start" ? "at the start" : `step ${column}`}`),
    element("ul", {}, here.map((cell) => element("li", {}, element("b", {}, cell.rank < 0 ? "the job" : `rank ${cell.rank}`),
      ` ${caughtSigns[cell.caught]} ${caughtWords[cell.caught]}; harm: ${idWords(cell.harm)}${cell.says ? `; ${cell.says}` : ""}`))));
  const cellOf = (fault, column) => {
    const here = cells.filter((cell) => cell.fault === fault && moment(cell) === column);
    if (here.length === 0) return element("td", {});
    const worst = here.reduce((a, b) => (badness[b.caught] > badness[a.caught] ? b : a)).caught;
    return element("td", {}, element("button", {
      type: "button", class: `heat ${worst}`, "aria-label": `${idWords(fault)}, ${column}: ${caughtWords[worst]}`,
      onclick: () => tell(fault, column, here),
    }, caughtSigns[worst]));
  };
  const counts = Object.entries(found.counts).filter(([name]) => caughtSigns[name])
    .map(([name, count]) => element("span", { class: `heat ${name}` }, `${caughtSigns[name]} ${count} ${caughtWords[name]}`));
  return element("div", {},
    element("p", { class: "legend" }, counts),
    found.cells.length < found.planned ? element("p", {}, `${found.planned - found.cells.length} of ${found.planned} were not played`) : "",
    told,
    element("div", { class: "wide" }, element("table", { class: "sweep" },
      element("thead", {}, element("tr", {}, element("th", {}, "fault"), columns.map((one) => element("th", {}, one)))),
      element("tbody", {}, rows.map((fault) => element("tr", {}, element("th", { scope: "row" }, idWords(fault)),
        columns.map((column) => cellOf(fault, column))))))));
}

function shrunkView(found, take) {
  const size = (one) => `${one.faults} faults, ${one.ranks} ranks, ${one.steps} steps, ${one.unusual_values} unusual values`;
  return element("div", {},
    element("dl", { class: "facts" },
      element("dt", {}, "keeps"), element("dd", {}, found.signature),
      element("dt", {}, "from"), element("dd", {}, size(found.before)),
      element("dt", {}, "to"), element("dd", {}, `${size(found.after)}, in ${found.tries} runs${found.finished ? "" : " (stopped)"}`)),
    element("div", { class: "tools" }, button("Take it into the editor", () => take(found.toml, found.seed)),
      button("Save it", () => saveFile("shrunk.toml", found.toml))),
    element("pre", { class: "scroll" }, found.toml));
}

// The share of runs in which the fault was seen, by magnitude, with the interval of so few runs.
function probeCurve(found) {
  const wide = 560, high = 200, left = 44, top = 12;
  const { points } = found;
  const x = (i) => left + (points.length < 2 ? 0 : (i / (points.length - 1)) * (wide - left - 16));
  const y = (share) => top + (1 - share) * high;
  const line = points.map((one, i) => `${i ? "L" : "M"}${x(i)} ${y(one.share)}`).join("");
  const picture = drawing("svg", { viewBox: `0 0 ${wide} ${high + 44}`, class: "probe", role: "img",
    "aria-label": points.map((one) => `${one.text}: seen in ${one.seen} of ${one.runs}`).join("; ") },
    [0, 0.5, 1].map((share) => drawing("g", {},
      drawing("line", { x1: left, x2: wide - 8, y1: y(share), y2: y(share), class: "grid" }),
      drawing("text", { x: 2, y: y(share) + 4, class: "dim" }, `${share * 100} %`))),
    points.map((one, i) => drawing("line", { x1: x(i), x2: x(i), y1: y(one.low), y2: y(one.high), class: "interval" })),
    drawing("path", { d: line, class: "curve" }),
    points.map((one, i) => drawing("circle", { cx: x(i), cy: y(one.share), r: 4, class: "point" })),
    points.map((one, i) => drawing("text", { x: x(i), y: high + 34, "text-anchor": i ? "middle" : "start", class: "dim" },
      i % Math.ceil(points.length / 8) === 0 ? one.text : "")));
  const rows = points.map((one) => element("tr", {}, element("td", {}, one.text),
    element("td", { class: "number" }, `${one.seen}/${one.runs}`),
    element("td", {}, one.median_delay_ns === undefined ? "—" : timeText(one.median_delay_ns / 1000)),
    element("td", { class: "number" }, `${one.harmed}/${one.runs}`)));
  return element("div", {},
    element("p", {}, `${found.what}, as seen by ${found.who}. `,
      `False alarms: ${found.healthy.false_alarms} in ${found.healthy.runs} healthy runs. `,
      found.unknown ? `${found.unknown} runs are unknown: ${found.trouble}` : ""),
    element("div", { class: "wide" }, picture),
    element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, [["magnitude", ""], ["seen", "number"], ["median after", ""], ["harm", "number"]].map(([one, kind]) => element("th", { class: kind }, one)))),
      element("tbody", {}, rows))));
}
