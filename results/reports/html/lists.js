// lists.js — Logs beside the timeline, and its table: the same in words, for those who cannot see a canvas.
"use strict";

// Lines, faults and alarms by time; a click moves the timeline's cursor there, and the cursor shows what is
// near.
class LogList {
  constructor(run, goTo) {
    const entries = [
      // Of one instant the fault comes first, then what was printed, then who noticed; the sort keeps this.
      ...run.marks.map(({ t, ranks, says, kind }) => ({ t, ranks, text: says, kind: kind.replaceAll(".", " "), sort: "fault" })),
      ...run.logs.lines.map(([t, ranks, level, kind, text]) =>
        ({ t, ranks, text, kind, sort: `level${level}` })),
      ...run.alarms.map(({ t, ranks, symptom, says }) =>
        ({ t, ranks, text: `${symptom}: ${says}`, kind: "alarm", sort: "alarm" })),
    ].sort((a, b) => a.t - b.t);
    this.entries = entries.map((one) => ({ ...one, node: this.line(one, goTo) }));
    this.box = element("div", { class: "logs" }, this.entries.map((one) => one.node));
    const rest = run.logs.left_out ? ` · ${run.logs.left_out} lines left out` : "";
    this.node = element("div", {}, element("h2", {}, `${run.marks.length || run.alarms.length ? "Logs, faults and alarms" : "Logs"}${rest}`), this.box);
  }

  line(one, goTo) {
    const ranges = rangesOf(one.ranks);
    const what = one.kind === "" ? "" : element("span", { class: "kind" }, `${one.kind} `);
    return element("button",
      { type: "button", class: `log ${one.sort}`, onclick: () => goTo(one.t), title: exactTime(one.t) },
      element("span", { class: "dim" }, (one.t / 1e6).toFixed(4)),
      element("span", { class: "who", title: ranksText(ranges, 99) }, ranksText(ranges, 1)),
      element("span", { class: "what" }, what, one.text));
  }

  near(time) {
    let last = null;
    for (const one of this.entries) {
      one.node.classList.remove("near");
      if (one.t <= time) last = one;
    }
    if (!last) return;
    last.node.classList.add("near");
    const { box } = this, top = last.node.offsetTop - box.offsetTop;
    const hidden = top < box.scrollTop || top > box.scrollTop + box.clientHeight - 30;
    if (hidden) box.scrollTop = top - box.clientHeight / 2;
  }
}

function lastOf(row, kinds, lane) {
  for (let i = row.kind.length - 1; i >= 0; --i) if (kinds[row.kind[i]].lane === lane) return i;
  return -1;
}

function rankTable(run, { rows, kinds }) {
  const ends = run.ends.map(([ranks, end]) => [rangesOf(ranks), end]);
  const endOf = (row) => ends.find(([ranges]) => holds(ranges, row.ranges[0][0]))?.[1] ?? "—";
  const line = (row) => {
    const call = lastOf(row, kinds, 2), step = lastOf(row, kinds, 0), work = lastOf(row, kinds, 1);
    const kind = call < 0 ? null : kinds[row.kind[call]];
    return element("tr", {},
      element("td", {}, ranksText(row.ranges, 8)), element("td", {}, endOf(row)),
      element("td", { class: "number" }, step < 0 ? "—" : String(row.number[step])),
      element("td", {}, kind ? sliceName(kind, row.number[call]) : "—"),
      element("td", {}, kind ? kind.detail : ""),
      element("td", {}, call < 0 ? "—" : row.end[call] < 0
        ? `since ${exactTime(row.begin[call])}, never ended` : `left at ${exactTime(row.end[call])}`),
      element("td", {}, work < 0 ? "—" : kinds[row.kind[work]].label));
  };
  const heads = ["ranks", "ended", "last step", "last call", "with", "when", "last work"];
  return element("details", { class: "panel" },
    element("summary", {}, "The same as a table: each row's last step, call and end"),
    element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", {}, head)))),
      element("tbody", {}, rows.slice(0, 2000).map(line)))),
    rows.length > 2000
      ? element("p", { class: "dim" }, `${rows.length - 2000} more rows are not listed`) : "");
}
