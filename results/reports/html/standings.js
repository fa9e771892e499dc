// standings.js — How each program under test stood each bug: a row a bug, a column a program in one version.
// A cell opens its words and its command below its row, and leads to its run where the page has that.
"use strict";

// Of several trials of a bug the worst is shown: bad before untold, or what nobody promised, before good.
const weightOf = (one) => (one.untold !== undefined || one.apart ? 1 : one.good ? 0 : 2);
const verdictOf = (one) => ["pass", "unknown", "fail"][weightOf(one)];
const runWords = (one) => (one.untold !== undefined ? "not told"
  : `${one.response} ${one.took.replaceAll(" ", "\u00a0")}`.trim());
const responseOf = (one) => (one.untold === undefined ? one.response : "not told");

// "clear error 2, hang 1" where runs of one bug differ.
function cellWords(one) {
  const counts = new Map();
  for (const run of one.runs ?? [one]) counts.set(responseOf(run), (counts.get(responseOf(run)) ?? 0) + 1);
  if (counts.size < 2) return runWords(one);
  return [...counts].map(([words, count]) => `${words} ${count}`).join(", ");
}

function standingsByBug(standings) {
  const rows = new Map();
  for (const one of standings) {
    const key = `${one.cause}\n${one.bug}`;
    if (!rows.has(key)) rows.set(key, new Map());
    const cells = rows.get(key), seen = cells.get(one.program);
    const worst = !seen || weightOf(one) > weightOf(seen) ? one : seen;
    cells.set(one.program, { ...worst, runs: [...(seen?.runs ?? []), one] });
  }
  return new Map([...rows].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function standingWords(one) {
  const command = one.again && element("div", { class: "command" }, element("code", {}, one.again),
    copyButton(one.again));
  return [element("p", { class: "words" }, badge(verdictOf(one)), element("b", {}, `${one.program}: `),
    one.untold === undefined ? `${runWords(one)}. ${one.says}` : one.untold || "it could not be told"),
  command, one.case >= 0 ? element("p", { class: "words" },
    element("a", { href: addressOf(one.case, "fault") }, "Look at its run")) : ""];
}

// The row below the one that was clicked, there once in a table.
class StandingDetail {
  constructor(columns) {
    this.cell = element("td", { colspan: columns, "aria-live": "polite" });
    this.row = element("tr", { class: "detail" }, this.cell);
    this.button = null;
  }
  toggle(button, one) {
    const again = button === this.button;
    this.button?.setAttribute("aria-expanded", "false");
    this.row.remove();
    this.button = again ? null : button;
    if (again) return;
    button.setAttribute("aria-expanded", "true");
    this.cell.replaceChildren(...standingWords(one).filter(Boolean));
    button.closest("tr").after(this.row);
  }
}

function standingCell(one, detail) {
  if (!one) return element("td");
  const button = element("button", { type: "button", class: `stood ${verdictOf(one)}`,
    "aria-expanded": "false", onclick: () => detail.toggle(button, one) }, cellWords(one));
  return element("td", {}, button);
}

// "19 clear error · 8 silent wrong result", the most frequent first.
function standingTally(cells) {
  const counts = new Map();
  for (const one of cells) {
    counts.set(responseOf(one), (counts.get(responseOf(one)) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([words, count]) =>
    element("div", { class: "dim" }, `${count} ${words}`));
}

function standingsTable(standings) {
  const programs = [...new Set(standings.map((one) => one.program))];
  const rows = standingsByBug(standings);
  const detail = new StandingDetail(programs.length + 2);
  const lines = [...rows.values()].map((cells) => {
    const [{ bug, cause }] = cells.values();
    return { bad: [...cells.values()].some((one) => weightOf(one) > 0), node: element("tr", {},
      element("th", { scope: "row" }, bug.slice(bug.indexOf("/") + 1).replaceAll("_", " ")),
      element("td", { class: "dim" }, cause.replaceAll("_", " ")),
      programs.map((program) => standingCell(cells.get(program), detail))) };
  });
  const tallies = programs.map((program) => element("td", {},
    standingTally([...rows.values()].map((cells) => cells.get(program)).filter(Boolean))));
  const onlyBad = element("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const pressed = onlyBad.getAttribute("aria-pressed") !== "true";
    onlyBad.setAttribute("aria-pressed", String(pressed));
    for (const { bad, node } of lines) node.hidden = pressed && !bad;
    detail.row.remove();
  } }, "Only what went badly");
  return element("section", { class: "panel", id: "standings" },
    element("h2", {}, "How programs stood the bugs"),
    element("div", { class: "tools" }, onlyBad,
      element("span", { class: "dim" }, "A cell opens its words and the command that shows it again.")),
    element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, ["bug", "cause", ...programs].map((head) =>
        element("th", { scope: "col" }, head)))),
      element("tbody", {}, lines.map((line) => line.node)),
      element("tfoot", {}, element("tr", {}, element("th", { scope: "row" }, "in all"), element("td"),
        tallies)))));
}
