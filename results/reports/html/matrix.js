// matrix.js — Every trial as cells: with the fault, without it, healed; a cell leads to its run. And the
// scorecard.
"use strict";

const variants = { fault: "with its fault", control: "without the fault", healed: "with its fix" };
const addressOf = (place, variant) => `#${place}.${variant}`;

function buildMatrix(cases) {
  const stages = new Map();
  cases.forEach((one, place) => {
    const stage = one.bug[0] || "runs";
    if (!stages.has(stage)) stages.set(stage, new Map());
    const scenarios = stages.get(stage);
    if (!scenarios.has(one.scenario)) scenarios.set(one.scenario, []);
    scenarios.get(one.scenario).push(place);
  });
  const key = data.moments ? "A run of each way it ended: with its fault, without it."
    : "Each trial: with its fault, without it, with its fix.";
  const content = [element("p", { class: "key" }, key)];
  for (const [stage, scenarios] of stages) {
    content.push(element("h2", {}, stage.replaceAll("_", " ")));
    for (const [scenario, places] of scenarios) content.push(trialLine(cases, scenario, places));
  }
  if (cases.length > 8) content.splice(1, 0, filterBox(cases));
  document.getElementById("matrix").replaceChildren(...content);
}

// Words of name, symptom, cause or reason, and a verdict; what does not match is hidden.
function filterBox(cases) {
  const words = element("input", { type: "search", "aria-label": "Filter by words", placeholder: "filter" });
  const verdict = element("select", { "aria-label": "Filter by verdict" },
    ["every verdict", "pass", "fail", "unknown"].map((one) => element("option", {}, one)));
  const texts = cases.map((one) => [one.scenario, ...one.bug, one.reason, one.title].join(" ")
    .replaceAll("_", " ").toLowerCase());
  const apply = () => {
    const wanted = words.value.toLowerCase().replaceAll("_", " ").split(" ").filter(Boolean);
    const shows = (place) => wanted.every((word) => texts[place].includes(word)) &&
      (verdict.selectedIndex === 0 || cases[place].verdict === verdict.value);
    for (const line of document.querySelectorAll("#matrix .trial"))
      line.hidden = !line.dataset.places.trim().split(" ").some((place) => shows(Number(place)));
    for (const head of document.querySelectorAll("#matrix h2")) {
      let line = head.nextElementSibling;
      while (line && line.matches(".trial[hidden]")) line = line.nextElementSibling;
      head.hidden = !line?.matches(".trial");
    }
  };
  words.addEventListener("input", apply);
  verdict.addEventListener("change", apply);
  return element("div", { class: "filter" }, words, verdict);
}

function trialLine(cases, scenario, places) {
  const small = places.length > 3;
  const cells = places.map((place) => element("span", { class: "seed" },
    cases[place].runs.map((run) => cell(cases[place], place, run, small))));
  const name = scenario.split("/").pop().replaceAll("_", " ");
  return element("div", { class: "trial", "data-places": ` ${places.join(" ")} ` },
    element("a", { class: "name", href: addressOf(places[0], "fault"), style: "color:inherit" }, name),
    element("span", { class: "cells" }, cells.length && cases[places[0]].runs.length ? cells
      : element("span", { class: "cell unknown", title: cases[places[0]].reason }, "?")));
}

function cell(one, place, run, small) {
  const verdict = run.verdict ?? "unknown";
  const outcome = (run.outcome ?? "").replaceAll("_", " ");
  const words = `${one.scenario}, seed ${one.seed}, ${variants[run.variant]}: ${verdict}, ${outcome}`;
  return element("a", { class: `cell ${verdict}${small ? " small" : ""}`, href: addressOf(place, run.variant),
    "aria-label": words, title: `${words}\n${run.reason ?? ""}`,
    "data-run": `${place}.${run.variant}` }, mark[verdict]);
}

function markHere(place, variant) {
  for (const link of document.querySelectorAll("#matrix .cell")) {
    if (link.dataset.run === `${place}.${variant}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const line of document.querySelectorAll("#matrix .trial")) {
    const here = place >= 0 && line.dataset.places.includes(` ${place} `);
    line.classList.toggle("here", here);
    if (here) line.scrollIntoView({ block: "nearest" });
  }
}

function scorecard(data) {
  const outcomes = [...new Set(data.card.flatMap((row) => Object.keys(row.outcomes)))];
  const heads = [data.by, "trials", ...outcomes.map((one) => one.replaceAll("_", " ")), "precision", "recall",
    "named", "median", "quiet runs"];
  const line = (row, i) => element("tr", { class: i === data.card.length - 1 ? "total" : "" },
    element("td", {}, row.name.replaceAll("_", " ")),
    [row.cases, ...outcomes.map((one) => row.outcomes[one] ?? "·"), row.precision, row.recall, row.named,
      row.median, row.quiet].map((value) => element("td", { class: "number" }, String(value))));
  return element("section", { class: "panel" }, element("h2", {}, "Scorecard"),
    element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {},
        heads.map((head, i) => element("th", { class: i ? "number" : "" }, head)))),
      element("tbody", {}, data.card.map(line)))),
    element("p", { class: "dim", style: "margin:8px 0 0" },
      "Precision counts alarms, recall and naming count trials; a share over nothing is “—”. " +
      "Quiet: control and healed runs in which nothing rang."));
}
