// teacher.js — The teacher's board: who found what, and the answers.
"use strict";

const boardPause = 2000;

function boardCell(cell) {
  const state = cell.fixed ? "fixed" : cell.found ? "found" : "";
  const words = `${state ? `${state}, ` : ""}${cell.looks} looks, ${cell.hints} hints, ${cell.wrong} wrong`;
  return element("td", { class: state, title: words }, element("b", {}, cell.fixed ? "✔ " : cell.found ? "◐ " : "", String(cell.points)),
    element("small", { class: "dim" }, ` ${words}`));
}

function board({ bugs, learners, learners_at }) {
  const address = new URL(learners_at, location.href).href;
  const rows = [...learners].sort((a, b) => b.points - a.points);
  return [
    element("section", { class: "panel" }, element("h1", {}, "The class"),
      element("p", {}, "Learners join at"), element("div", { class: "command" }, element("code", { class: "big" }, address), copyButton(address)),
      element("p", {}, element("a", { class: "save", href: "board.csv", download: "class.csv" }, "Save as CSV"))),
    element("section", { class: "panel wide" }, element("h2", {}, `${learners.length} ${learners.length === 1 ? "learner" : "learners"}`),
      element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "name"), element("th", {}, "points"),
        bugs.map((_, i) => element("th", {}, `Bug ${i + 1}`)))),
      element("tbody", {}, rows.map((one) => element("tr", {}, element("th", { scope: "row" }, one.name),
        element("td", { class: "number" }, String(one.points)), one.cells.map(boardCell)))))),
    element("details", { class: "panel" }, element("summary", {}, "Answers"),
      element("ol", {}, bugs.map((bug) => element("li", {}, element("b", {}, bug.scenario), ` under seed ${bug.seed}. `,
        bug.culprits.length ? `Rank ${bug.culprits.join(", ")}. ` : "", bug.step === null ? "" : `Since step ${bug.step}. `, `Cause: ${idWords(bug.cause)}. ${bug.answer} Fix: ${bug.fix}.`)))),
  ];
}

async function followBoard() {
  const main = document.getElementById("class");
  for (;;) {
    try {
      const open = main.querySelector("details")?.open ?? false;
      main.replaceChildren(...board(await ask("GET", "api/board")));
      main.querySelector("details").open = open;
      document.getElementById("headline").textContent = "";
    } catch (refused) {
      document.getElementById("headline").textContent = refused.message;
    }
    await wait(boardPause);
  }
}

followTheme(() => {});
followBoard();
