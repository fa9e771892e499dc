// learner.js — A learner's page: join, look at evidence, guess rank and cause, try a fix.
"use strict";

class LearnerPage {
  constructor(causes) {
    this.causes = causes;
    this.main = document.getElementById("class");
    this.headline = document.getElementById("headline");
    this.key = sessionStorage.getItem("key");
    this.drawn = [];
    followTheme(() => this.drawn.forEach((one) => one.draw()));
    addEventListener("resize", () => this.drawn.forEach((one) => one.draw()));
  }

  async start() {
    if (!this.key) return this.showJoin();
    try {
      this.show(await ask("POST", "api/state", { key: this.key }));
    } catch (refused) {
      this.showJoin(refused.message);
    }
  }

  showJoin(trouble = "") {
    const name = element("input", { id: "name", maxlength: "40", autocomplete: "nickname", required: true });
    const told = element("p", { class: "fail", role: "alert" }, trouble);
    const form = element("form", { class: "panel join", onsubmit: async (event) => {
      event.preventDefault();
      try {
        this.key = (await ask("POST", "api/join", { name: name.value })).key;
        sessionStorage.setItem("key", this.key);
        this.start();
      } catch (refused) {
        told.textContent = refused.message;
      }
    } }, element("h1", {}, "Join the class"), labelled("Your name", name),
      element("button", { class: "primary" }, "Join"), told);
    this.main.replaceChildren(form);
    name.focus();
  }

  show(state) {
    this.state = state;
    this.chosen ??= 0;
    const total = state.puzzles.reduce((sum, one) => sum + one.points, 0);
    this.headline.textContent = `${state.name} · ${total} points`;
    this.tabs ??= element("div", { class: "tabs", role: "group", "aria-label": "The bugs of this class" });
    this.tabs.replaceChildren(...state.puzzles.map((one) => element("button", {
      type: "button", "aria-pressed": String(one.number === this.chosen),
      onclick: () => {
        this.chosen = one.number;
        this.show(this.state);
      },
    }, `${one.fixed ? "✔ " : one.found ? "◐ " : ""}Bug ${one.number + 1}`)));
    this.drawn = [];
    this.main.replaceChildren(this.tabs, ...this.puzzle(state.puzzles[this.chosen]));
    requestAnimationFrame(() => this.drawn.forEach((one) => one.draw()));
  }

  async act(what, body = {}) {
    try {
      const puzzle = await ask("POST", `api/${what}`, { key: this.key, puzzle: this.chosen, ...body });
      this.state.puzzles[puzzle.number] = puzzle;
      this.show(this.state);
      if (puzzle.trying) setTimeout(() => this.refresh(), 700);
    } catch (refused) {
      this.headline.textContent = refused.message;
    }
  }

  async refresh() {
    const state = await ask("POST", "api/state", { key: this.key });
    const trying = state.puzzles.some((one) => one.trying);
    if (!trying) this.show(state);
    else setTimeout(() => this.refresh(), 700);
  }

  puzzle(one) {
    return [
      element("section", { class: "panel" },
        element("h1", {}, one.sees || `Bug ${one.number + 1}`),
        one.reported ? element("p", {}, `The report says: ${one.reported}`) : "",
        element("ul", { class: "seen" }, one.seen.map((fact) => element("li", {}, fact))),
        element("p", {}, element("b", {}, one.question)),
        element("p", { class: "dim" }, `The job has ${one.ranks} ranks; ${one.watched}. This bug is worth ${one.worth} points now: half for finding it, half for its fix.`),
        one.hints.length ? element("ol", { class: "hints" }, one.hints.map((hint) => element("li", {}, hint))) : "",
        one.hints_left > 0 && !one.fixed ? button(`A hint (−10, ${one.hints_left} left)`, () => this.act("hint"), { id: "hint" }) : ""),
      one.fixed ? this.answer(one) : one.found ? this.fixForm(one) : this.guessForm(one),
      one.program.length === 0 ? "" : element("details", { class: "panel", open: true },
        element("summary", {}, "The program, as every rank ran it"), element("pre", { class: "scroll program" }, one.program.join("\n"))),
      element("section", { class: "panel" }, element("h2", {}, "Evidence"),
        element("div", { class: "looks" }, one.looks.map((look, i) => this.look(look, i)))),
    ];
  }

  look(look, i) {
    if (!look.shows) return button(`${look.title} (−${look.costs})`, () => this.act("look", { look: i }), { class: "look", "data-look": i });
    return element("details", { open: true, class: "shown" }, element("summary", {}, look.title), this.evidence(look.shows));
  }

  evidence(shows) {
    if (shows.lines) return element("pre", { class: "scroll" }, shows.lines.join("\n"));
    if (shows.waits) return waitGraph(shows.waits);
    const decoded = rowsOf(shows.run.rows);
    const view = new TimelineView(shows.run, decoded, () => {});
    this.drawn.push(view);
    return element("div", { class: "timeline" }, view.node, rankTable(shows.run, decoded));
  }

  guessForm(one) {
    const rank = element("input", { id: "rank", type: "number", min: "0", max: String(one.ranks - 1) });
    const step = element("input", { id: "step", type: "number", min: "0" });
    const numberOf = (field) => Number(field.value || -1);
    const cause = choice([["", "choose"], ...this.causes.map((each) => [each.id, each.name])], "", () => {});
    cause.id = "cause";
    return element("section", { class: "panel" }, element("h2", {}, "Your guess"),
      one.wrong_guesses ? element("p", { class: "fail", role: "alert" }, `Not right yet: ${one.wrong_guesses} wrong so far.`) : "",
      element("div", { class: "tools" }, one.asks_rank ? labelled("the rank at fault", rank) : "",
        one.asks_step ? labelled("since which step (steps count from 0)", step) : "", labelled("the root cause", cause),
        button("Guess (−15 if it is wrong)", () => this.act("guess",
          { rank: numberOf(rank), step: numberOf(step), cause: cause.value }), { class: "primary", id: "guess" })));
  }

  fixForm(one) {
    return element("section", { class: "panel" }, element("h2", {}, "Found. What repairs it?"),
      element("p", { class: "dim" }, "The change is made to the job, whose bug stays where the change does not reach it, and the job is played under another seed. "
        + "A change that finds nothing in this job to alter is not played."),
      one.last_try ? element("p", { role: "alert" }, one.last_try) : "",
      element("div", { class: "fixes" }, one.fixes.map((fix, i) => button(fix, () => this.act("fix", { fix: i }),
        { class: "fix", "data-fix": i, disabled: one.trying }))),
      one.trying ? element("p", { role: "status" }, "It is being played …") : "");
  }

  answer(one) {
    return element("section", { class: "panel" }, element("h2", {}, "What it was"),
      element("p", {}, badge("pass"), one.last_try), element("p", {}, one.answer), element("p", { class: "dim" }, one.why));
  }
}

ask("GET", "api/causes").then((causes) => new LearnerPage(causes).start(),
  (refused) => (document.getElementById("headline").textContent = refused.message));
