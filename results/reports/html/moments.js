// moments.js — How a program ended that met a fault at each rank (rows) and moment (columns). A cell opens its
// words and its command, and leads to a run that ended alike.
"use strict";

function momentWords(cell) {
  return [element("p", { class: "words" }, badge(cell.bad ? "fail" : "pass"), element("b", {}, `${cell.where}: `),
    cell.says ? `${cell.outcome}. ${cell.says}` : cell.outcome),
  element("div", { class: "command" }, element("code", {}, cell.again), copyButton(cell.again)),
  cell.case >= 0 ? element("p", { class: "words" },
    element("a", { href: addressOf(cell.case, "fault") }, "Look at a run that ended so")) : ""].filter(Boolean);
}

// "32 clear error naming the culprit · 4 watchdog", the most frequent first. A cell of a row of four ranks is four runs.
function momentTally(map) {
  const counts = new Map();
  for (const { runs, cells } of map.rows) {
    for (const cell of cells.filter(Boolean)) {
      const key = `${cell.sign} ${cell.outcome}`;
      const seen = counts.get(key) ?? { count: 0, bad: cell.bad };
      counts.set(key, { count: seen.count + runs, bad: cell.bad });
    }
  }
  return element("div", { class: "legend" }, [...counts].sort((a, b) => b[1].count - a[1].count).map(
    ([words, { count, bad }]) => element("span", {}, element("b", { class: bad ? "fail" : "pass" }, words),
      ` ${count}`)));
}

function momentMap(map) {
  const detail = element("div", { "aria-live": "polite" },
    element("p", { class: "dim" }, "A cell opens its words and the command that plays it again."));
  let chosen = null;
  const cellOf = (cell) => {
    if (!cell) return element("td");
    const button = element("button", { type: "button", class: `moment ${cell.bad ? "fail" : "pass"}`,
      title: `${cell.where}: ${cell.outcome}`, "aria-label": `${cell.where}: ${cell.outcome}`, onclick: () => {
        chosen?.removeAttribute("aria-current");
        chosen = button;
        button.setAttribute("aria-current", "true");
        detail.replaceChildren(...momentWords(cell));
      } }, cell.sign);
    return element("td", {}, button);
  };
  return element("section", { class: "panel", id: "moments" },
    element("h2", {}, "How it ended: a row a rank, a column a moment of that rank"),
    element("div", { class: "wide" }, element("table", { class: "moments" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "fault"),
        element("th", { scope: "col" }, "ranks"),
        map.columns.map((column) => element("th", { scope: "col", title: column },
          element("span", {}, column))))),
      element("tbody", {}, map.rows.map((row) => element("tr", {},
        element("th", { scope: "row" }, row.fault), element("th", { scope: "row" }, row.ranks),
        row.cells.map(cellOf)))))),
    momentTally(map), detail);
}
