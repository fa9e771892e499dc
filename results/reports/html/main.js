// main.js — Reads the data, follows the address (#3.fault is the fourth trial's faulty run), and puts the
// parts together.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("run");
let redraw = () => {};

function facts(one, run) {
  const due = {
    fault: one.due,
    control: "silence: nothing was done to it",
    healed: "silence, or a clean end: the fix is on",
  };
  const stood = data.standings.find((other) => other.case === data.cases.indexOf(one));
  const known = run.variant === "fault" && run.culprit && run.culprit !== "nobody";
  const bug = `${one.bug[1]} · cause: ${one.bug[2]} · fix: ${one.bug[3]}`;
  const rows = [
    ["was due", isJudged(one) ? due[run.variant] : ""],
    ["was said", run.alarms.length === 0 ? "nothing" : ""],
    ["the job", run.job],
    ["really at fault", known ? run.culprit : ""],
    ["stood it with", run.variant === "fault" && stood ? `${cellWords(stood)}. ${stood.says ?? stood.untold}` : ""],
    ["the bug", one.bug[1] ? bug.replaceAll("_", " ") : ""],
    ["the fix", run.variant === "healed" ? one.fix : ""],
    ["reported as", one.reports.join(", ")],
    ["noted", one.notes.join("; ")],
  ];
  const list = element("dl", { class: "facts" });
  for (const [name, text] of rows) {
    if (name === "was said") {
      run.alarms.forEach((alarm, i) => list.append(element("dt", {}, i ? "" : name),
        element("dd", {}, element("b", {}, alarm.symptom.replaceAll("_", " ")),
          ` about ${alarm.about} · ${alarm.detector.replaceAll("_", " ")}: ${alarm.says}`)));
    }
    if (text) list.append(element("dt", {}, name), element("dd", {}, text));
  }
  list.append(element("dt", {}, "see it again"), element("dd", {}, one.commands.map((command) =>
    element("div", { class: "command" }, element("code", {}, command), copyButton(command)))));
  return list;
}

// A run that was only watched has no scenario to be judged by, no fault and no fix.
const isJudged = (one) => Boolean(one.bug[1]) || one.runs.length > 1 || !one.runs.length;

// Only what a learner may see before the answer.
function blindHeading(one) {
  return element("section", { class: "panel" }, element("h1", {}, one.title),
    element("div", { class: "dim" }, `${one.story} · seed ${one.seed}`));
}

function heading(one, place, run) {
  const judged = run ?? one;
  const scenario = isJudged(one);
  const tab = (other) =>
    element("a", { href: addressOf(place, other.variant), "aria-current": other === run && "true" },
      `${mark[other.verdict ?? "unknown"]} ${variants[other.variant]}`);
  return element("section", { class: "panel" },
    element("h1", {}, one.title || one.scenario),
    element("div", { class: "dim" },
      scenario ? `${one.scenario} · seed ${one.seed} · ${one.runner}` : data.headline),
    one.story ? element("p", { class: "story" }, one.story) : "",
    scenario && element("div", { class: "tabs", role: "group", "aria-label": "Runs of this trial" },
      one.runs.map(tab)),
    scenario && element("p", { style: "margin:12px 0 0" }, badge(judged.verdict ?? "unknown"), judged.reason ?? ""),
    run ? facts(one, run) : "");
}

function showRun(place, variant) {
  const one = data.cases[place];
  const run = one.runs.find((other) => other.variant === variant) ?? one.runs[0];
  markHere(place, run?.variant);
  document.title = `deadrank · ${one.scenario}`;
  if (!run) {
    redraw = () => {};
    return main.replaceChildren(heading(one, place, null));
  }
  const decoded = (run.decoded ??= rowsOf(run.rows));
  const logs = new LogList(run, (time) => timeline.setCursor(time));
  const map = new ClusterMap(run, decoded);
  const timeline = new TimelineView(run, decoded, (time) => {
    logs.near(time);
    map.draw(time);
  });
  redraw = () => timeline.draw();
  if (one.blind) {
    main.replaceChildren(blindHeading(one), element("section", { class: "panel timeline" }, timeline.node),
      element("section", { class: "panel" }, logs.node));
    return redraw();
  }
  main.replaceChildren(heading(one, place, run),
    element("section", { class: "panel timeline" }, timeline.node),
    element("div", { class: "pair" },
      element("div", {},
        element("section", { class: "panel" }, waitGraph(run.waits)),
        element("section", { class: "panel" }, map.node)),
      element("section", { class: "panel" }, logs.node)),
    rankTable(run, decoded));
  redraw = () => {
    timeline.draw();
    map.draw(timeline.cursor ?? run.until);
  };
  redraw();
  scrollTo(0, 0);
}

const countOfThose = (list, holds) => list.filter(holds).length;
const manyOf = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// What came of all trials, in sentences: the first thing that a reader sees.
function summary(cases) {
  const faulty = cases.map((one) => one.runs.find((run) => run.variant === "fault")).filter(Boolean);
  const healthy = cases.flatMap((one) => one.runs.filter((run) => run.variant !== "fault"));
  const due = cases.filter((one) => one.due && !one.due.startsWith("silence"));
  const outcomeOf = (one) => one.runs.find((run) => run.variant === "fault")?.outcome;
  const noticed = due.filter((one) => ["caught", "wrong_rank", "late"].includes(outcomeOf(one)));
  const wrong = countOfThose(noticed, (one) => outcomeOf(one) === "wrong_rank");
  const hung = countOfThose(faulty, (run) => run.job === "it hung");
  const well = countOfThose(healthy, (run) => run.verdict === "pass");
  const lines = [
    `${manyOf(cases.length, "trial")}: ${["pass", "fail", "unknown"].map((verdict) =>
      `${countOfThose(cases, (one) => one.verdict === verdict)} ${verdict}`).join(", ")}.`,
    due.length && `In ${due.length} an alarm was due. In ${noticed.length} it came${wrong
      ? `, in ${wrong} of these about the wrong rank` : ""}.`,
    faulty.length && `With the fault ${manyOf(hung, "job")} hung.`,
    healthy.length && `${well} of ${manyOf(healthy.length, "run")} without the fault or with the fix went as they should.`,
  ].filter(Boolean);
  return element("section", { class: "panel summary" }, element("h1", {}, data.headline),
    lines.map((line) => element("p", {}, line)));
}

function showHome() {
  markHere(-1);
  redraw = () => {};
  const missed = data.cases.map((one, place) => [one, place]).filter(([one]) => one.verdict !== "pass");
  if (data.moments) return main.replaceChildren(momentMap(data.moments));
  const standings = data.standings.length ? standingsTable(data.standings) : "";
  if (!data.cases.length) return main.replaceChildren(standings);
  main.replaceChildren(summary(data.cases), standings, scorecard(data), element("section", { class: "panel" },
    element("h2", {}, missed.length ? `${missed.length} did not pass` : "All passed"),
    missed.length ? element("ul", {}, missed.slice(0, 200).map(([one, place]) => element("li", {},
      badge(one.verdict),
      element("a", { href: addressOf(place, "fault") }, `${one.scenario} · seed ${one.seed}`),
      ` ${one.reason}`)))
      : element("p", { class: "dim" }, "Choose a trial at the left to see what happened in it.")));
}

function follow() {
  tip.hide();
  const [place, variant] = location.hash.slice(1).split(".");
  if (place !== "" && data.cases[Number(place)]) showRun(Number(place), variant ?? "fault");
  else if (data.cases.length === 1 && place === "") showRun(0, "fault");
  else showHome();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  redraw();
}

function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  document.getElementById("headline").textContent = data.headline;
  const count = (verdict) => data.cases.filter((one) => one.verdict === verdict).length;
  const tally = ["pass", "fail", "unknown"].filter(count).map((verdict) =>
    element("span", { class: `badge ${verdict}` }, `${mark[verdict]} ${count(verdict)} ${verdict}`));
  const blind = data.cases.some((one) => one.blind);
  // A sweep's page has one run of each way to end: their verdicts do not count its runs.
  document.getElementById("tally").replaceChildren(...(blind || data.moments ? [] : tally));
  const alone = data.cases.length === 1 && !isJudged(data.cases[0]);
  if (alone) document.getElementById("tally").replaceChildren();
  if (data.cases.length && !blind && !alone) buildMatrix(data.cases);
  else document.getElementById("house").classList.add("bare");
  addEventListener("hashchange", follow);
  addEventListener("resize", () => redraw());
  follow();
}

start();
