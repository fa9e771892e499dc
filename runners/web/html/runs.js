// runs.js — A run that was played: its timeline, evidence, waits at the cursor and alarms, beside its control and
// its healed run; and two runs compared.
"use strict";

const variantNames = { fault: "with the fault", control: "control", healed: "healed" };

// One run of a job, as it is kept in the page: what was asked for, and what came of it.
class Played {
  constructor(job, order, result, words) {
    Object.assign(this, { job, order, words, case: result.case, one: result.page.cases[0] });
    this.label = `${order.id.split("/").pop()} · seed ${order.seed}${words ? ` · ${words}` : ""}`;
  }
  run(variant) {
    return this.one.runs.find((run) => run.variant === variant);
  }
}

class RunView {
  // `actions(played, view)` returns what can be done with this run, as buttons.
  constructor(played, actions) {
    Object.assign(this, { played, actions });
    this.variant = played.run("fault") ? "fault" : played.one.runs[0]?.variant;
    this.top = element("section", { class: "panel run-head" });
    this.body = element("div", {});
    this.compare = element("section", { class: "panel compare", hidden: true });
    this.node = element("div", { class: "run" }, this.top, this.compare, this.body);
    this.views = [];
    this.askWaits = latest((run, time) => this.waitsOf(run, time));
    this.showWaits = delayed((run, time) => this.fetchWaits(run, time), 90);
    this.head();
    this.show();
  }

  head() {
    const { one, case: judged } = this.played;
    const tab = (run) => element("a", {
      href: "#", "aria-current": run.variant === this.variant && "true", "data-variant": run.variant,
      onclick: (event) => {
        event.preventDefault();
        this.variant = run.variant;
        this.head();
        this.show();
      },
    }, `${mark[run.verdict ?? "unknown"]} ${variantNames[run.variant]}`);
    const run = this.played.run(this.variant);
    const verdict = run ?? one;
    this.top.replaceChildren(
      element("div", { class: "tools" }, element("h2", { style: "margin:0" }, `Run ${this.played.job}: ${this.played.label}`),
        element("span", { class: "grow" }), ...this.actions(this.played, this)),
      element("div", { class: "tabs", role: "group", "aria-label": "Runs of this trial" }, one.runs.map(tab)),
      element("p", { class: "verdict" }, badge(verdict.verdict ?? "unknown"), verdict.reason ?? ""),
      this.facts(run, one, judged));
  }

  facts(run, one, judged) {
    const list = element("dl", { class: "facts" });
    const add = (name, ...words) => list.append(element("dt", {}, name), element("dd", {}, ...words));
    if (run) {
      if (run.variant === "fault") add("due", one.due || "silence");
      if (run.alarms.length === 0) add("alarms", "none");
      run.alarms.forEach((alarm, i) => add(i ? "" : "alarms",
        element("button", { type: "button", class: "time", onclick: () => this.goTo(alarm.t) }, exactTime(alarm.t)), " ",
        element("b", {}, idWords(alarm.symptom)), ` about ${alarm.about} · ${idWords(alarm.detector)}: ${alarm.says}`));
      add("the job", run.job ?? "—");
      if (run.variant === "fault" && run.culprit) add("really at fault", run.culprit);
      if (run.variant === "healed" && one.fix) add("the fix", one.fix);
    }
    if (one.notes.length > 0) add("noted", one.notes.join("; "));
    if (judged.token) {
      const edited = this.played.order.text ? " --scenario scenario.toml" : "";
      const command = `deadrank replay ${judged.token}${edited}`;
      add("see it again", element("div", { class: "command" }, element("code", {}, command), copyButton(command)),
        edited ? element("small", { class: "dim" }, "with the scenario saved as scenario.toml") : "");
    }
    return list;
  }

  show() {
    const run = this.played.run(this.variant);
    this.views = [];
    if (!run) return this.body.replaceChildren(element("p", { class: "panel" }, "Nothing was played."));
    this.logs = new LogList(run, (time) => this.goTo(time));
    this.waits = element("div", { class: "waits", "aria-live": "polite" }, waitGraph(run.waits));
    const main = this.timelineOf(run);
    this.map = new ClusterMap(run, main.decoded);
    this.slider = element("input", {
      type: "range", class: "scrub", min: "0", max: "1000", value: "1000", "aria-label": "Virtual time",
      oninput: () => this.goTo(this.timeOf(main.timeline, Number(this.slider.value))),
    });
    const beside = this.played.one.runs.filter((other) => other !== run);
    this.body.replaceChildren(
      element("section", { class: "panel timeline" }, main.timeline.node,
        labelled("Drag virtual time", this.slider, { class: "field scrubber" })),
      element("div", { class: "pair" },
        element("div", {}, element("section", { class: "panel" }, this.waits),
          element("section", { class: "panel" }, this.map.node)),
        element("section", { class: "panel" }, this.logs.node)),
      ...beside.map((other) => element("section", { class: "panel timeline beside" },
        element("h2", {}, `Beside it: ${variantNames[other.variant]}. ${other.reason ?? ""}`),
        this.timelineOf(other).timeline.node)),
      rankTable(run, main.decoded));
    requestAnimationFrame(() => {
      this.draw();
      if (main === this.views[0]) this.goTo(this.firstMoment(run));
    });
  }

  // Just before the first alarm, when its ranks still wait; else the end.
  firstMoment(run) {
    return run.alarms.length > 0 ? Math.max(0, Math.min(...run.alarms.map((alarm) => alarm.t)) - 1) : run.until;
  }

  timelineOf(run) {
    const decoded = (run.decoded ??= rowsOf(run.rows));
    const view = { run, decoded };
    view.timeline = new TimelineView(run, decoded, (time) => this.moved(view, time));
    this.views.push(view);
    return view;
  }

  // The slider spans what is in sight, so that zooming makes it finer.
  timeOf(timeline, thousandths) {
    const { axis } = timeline;
    return axis.time(axis.x0 + (thousandths / 1000) * axis.pixels);
  }

  // The cursor of one timeline takes those of the runs beside it along.
  moved(view, time) {
    if (this.moving) return;
    this.moving = true;
    for (const other of this.views) if (other !== view) other.timeline.setCursor(Math.min(time, other.run.until));
    this.moving = false;
    const run = this.views[0].run, own = Math.min(time, run.until);
    this.logs.near(own);
    this.map.draw(own);
    const { axis } = this.views[0].timeline;
    this.slider.value = String(Math.round(((axis.place(own) - axis.left) / (axis.right - axis.left)) * 1000));
    this.slider.setAttribute("aria-valuetext", exactTime(own));
    this.showWaits(run, own);
  }

  goTo(time) {
    this.views[0].timeline.setCursor(time);
  }

  waitsOf(run, time) {
    const at = Math.round(time);
    return ask("GET", `api/jobs/${this.played.job}/waits?variant=${run.variant}&at=${at}`);
  }

  async fetchWaits(run, time) {
    try {
      const waits = await this.askWaits(run, time);
      if (!waits || this.played.run(this.variant) !== run) return;
      this.waits.replaceChildren(waits.groups.length > 0 ? waitGraph(waits) : element("div", {},
        element("h2", {}, `Who waits for whom at ${exactTime(time)}`),
        element("p", { class: "dim" }, "No rank waits for another at this time.")));
    } catch (refused) {
      this.waits.replaceChildren(element("p", { class: "dim" }, refused.message));
    }
  }

  draw() {
    for (const { timeline } of this.views) timeline.draw();
    const main = this.views[0];
    if (main) this.map.draw(main.timeline.cursor ?? main.run.until);
  }

  showCompared(other) {
    this.compare.hidden = !other;
    if (other) this.compare.replaceChildren(...comparison(other, this.played));
  }
}

// Two runs, fact by fact; what differs is marked.
function comparison(before, after) {
  const of = (played) => {
    const run = played.run("fault") ?? played.one.runs[0];
    const first = run?.alarms[0];
    const cell = (one) => (one ? `${mark[one.verdict ?? "unknown"]} ${one.reason ?? ""}` : "not played");
    const fault = run?.marks.find((one) => one.kind === "fault.applied") ?? run?.marks[0];
    return {
      "verdict": cell(run), "control": cell(played.run("control")), "healed": cell(played.run("healed")),
      "seed": String(played.order.seed), "ranks": String(run?.world ?? "—"),
      "fault at": fault ? exactTime(fault.t) : "—", "fault": fault?.says ?? "—",
      "first alarm at": first ? exactTime(first.t) : "never",
      "first alarm": first ? `${idWords(first.symptom)} about ${first.about}` : "none",
      "alarm says": first?.says ?? "—", "alarms": String(run?.alarms.length ?? 0),
      "the job": run?.job ?? "—", "observed until": run ? exactTime(run.until) : "—",
      "events": run ? run.events.toLocaleString("en") : "—",
    };
  };
  const a = of(before), b = of(after);
  return [
    element("h2", {}, "Compared with the run before"),
    element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, element("th", {}, ""),
        element("th", {}, `Run ${before.job}: ${before.label}`), element("th", {}, `Run ${after.job}: ${after.label}`))),
      element("tbody", {}, Object.keys(a).map((name) => element("tr", { class: a[name] === b[name] ? "same" : "differs" },
        element("th", { scope: "row" }, name), element("td", {}, a[name]), element("td", {}, b[name])))))),
  ];
}
