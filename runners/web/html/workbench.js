// workbench.js — Puts the parts together: the catalogue, the scenario, its runs, and the address.
"use strict";

const emptyScenario = `# mine/my_bug.toml
# Say in a few lines what goes wrong, and why.
format = 1

[bug]
stage = "communication"
symptom = "collective_deadlock_hang"
cause = "unpropagated_rank_failure"
fix = "validation_and_failure_handling"

[cluster]
nodes = 2
gpus_per_node = 4
watchdog = false

[workload]
kind = "data_parallel"
steps = 10

[[fault]]
kind = "kill_rank"
rank = "any"
when = { step = "3..8", before = "all_reduce" }

[expect]
symptom = "native_crash_or_illegal_access"
blames = ["rank"]
within = "2m"
`;

class Workbench {
  constructor(catalog) {
    this.page = document.getElementById("scenario");
    this.headline = document.getElementById("headline");
    this.catalog = new CatalogList(document.getElementById("catalog"), catalog, () => this.openText("my_bug", emptyScenario));
    this.history = [];
    this.build();
    this.check = latest((subject) => ask("POST", "api/check", subject));
    this.checkSoon = delayed(() => this.checkNow(), 250);
    this.browseButton();
    followTheme(() => this.view?.draw());
    addEventListener("resize", () => this.view?.draw());
    addEventListener("hashchange", () => this.follow());
    addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.play();
    });
  }

  build() {
    this.title = element("h1", {}, "Choose a scenario, or write one");
    this.story = element("p", { class: "story" });
    this.words = element("p", { class: "dim" });
    this.editor = new Editor(() => this.edited());
    this.program = new ProgramPane();
    this.knobs = new KnobPanel((path, value) => this.turn(path, value));
    this.seed = element("input", { type: "number", min: "1", value: "1", id: "seed", onchange: () => this.checkNow() });
    this.explore = element("input", { type: "checkbox", id: "explore" });
    this.playButton = button("▶ Play", () => this.play(), { class: "primary", id: "play", title: "Ctrl+Enter" });
    this.cancelButton = button("Cancel", () => this.job?.cancel(), { id: "cancel", hidden: true });
    this.status = element("p", { class: "status", id: "status", role: "status" });
    this.whatIf = element("div", { class: "tools what-if" });
    this.finds = element("div", { class: "tools finds" });
    this.found = element("section", { class: "panel found", hidden: true });
    this.runs = element("div", { class: "tools runs", role: "group", "aria-label": "Runs of this session" });
    this.runPlace = element("div", { id: "run" });
    this.page.replaceChildren(
      element("section", { class: "panel" }, this.title, this.words, this.story,
        element("div", { class: "bench" }, this.editor.node, this.knobs.node), this.program.node,
        element("div", { class: "tools play" },
          labelled("seed", this.seed), labelled("chance decides ties", this.explore, { class: "field check" }),
          this.playButton, this.cancelButton,
          button("Save the scenario", () => saveFile(`${this.id.split("/").pop()}.toml`, this.editor.text)),
          element("span", { class: "grow" })),
        element("div", { class: "tools" }, element("span", { class: "dim" }, "What if"), this.whatIf),
        element("div", { class: "tools" }, element("span", { class: "dim" }, "Find"), this.finds),
        this.status),
      this.found, this.runs, this.runPlace);
    this.openText("my_bug", emptyScenario, false);
    this.showFinds();
  }

  browseButton() {
    const browse = document.getElementById("browse"), house = document.getElementById("house");
    browse.addEventListener("click", () => {
      const open = house.classList.toggle("browsing");
      browse.setAttribute("aria-expanded", String(open));
    });
  }

  // ── The scenario

  async openScenario(id, seed = 1) {
    const { text } = await ask("GET", `api/scenario?id=${encodeURIComponent(id)}`);
    this.original = text;
    this.tell("");
    this.seed.value = String(seed);
    this.openText(id, text);
    document.getElementById("house").classList.remove("browsing");
    scrollTo(0, 0);
  }

  openText(id, text, check = true) {
    this.id = id;
    if (!this.catalog.find(id)) this.original = null;
    this.editor.text = text;
    this.catalog.mark(id);
    this.title.textContent = this.catalog.find(id)?.title || idWords(id);
    this.story.textContent = this.catalog.find(id)?.story ?? "";
    if (check) this.checkNow();
  }

  edited() {
    this.checkSoon();
  }

  get subject() {
    const unchanged = this.editor.text === this.original;
    return { id: this.id, text: unchanged ? "" : this.editor.text, seed: Math.max(1, Number(this.seed.value) || 1),
      explore_order: this.explore.checked };
  }

  async checkNow() {
    try {
      const checked = await this.check({ ...this.subject, text: this.editor.text });
      if (!checked) return;
      this.editor.show(checked.problems);
      this.playButton.disabled = checked.problems.length > 0;
      if (checked.problems.length > 0) {
        const count = checked.problems.length;
        this.words.textContent = count === 1 ? "One thing is wrong with it." : `${count} things are wrong with it.`;
        return;
      }
      const { scenario } = checked;
      this.title.textContent = scenario.title || idWords(scenario.id);
      this.story.textContent = scenario.story;
      this.words.textContent = [scenario.id, `${checked.ranks} ranks`, idWords(scenario.symptom), `cause: ${idWords(scenario.cause)}`,
        ...scenario.replays].join(" · ");
      this.expectedSymptom = checked.expected_symptom;
      this.knobs.show(checked.knobs);
      this.program.show(checked.program);
      this.showWhatIf(checked);
    } catch (refused) {
      this.tell(refused);
    }
  }

  async turn(path, value) {
    try {
      const { text } = await ask("POST", "api/set", { text: this.editor.text, path, value });
      this.editor.text = text;
      await this.checkNow();
    } catch (refused) {
      this.tell(refused);
    }
  }

  // ── What if

  showWhatIf({ knobs, ranks }) {
    const find = (pattern) => knobs.find((knob) => pattern.test(knob.path));
    const asks = [["another seed", "seed", async () => (this.seed.value = String(Number(this.seed.value) + 1))]];
    const rank = find(/^fault\.\d+\.rank$/);
    const numbers = rank?.value.match(/\d+/g)?.map(Number) ?? [];
    if (numbers.length === 1 && ranks > 1) {
      const next = (numbers[0] + 1) % ranks;
      asks.push([`rank ${next}`, `rank ${next}`, () => this.turn(rank.path, String(next))]);
    }
    for (const [path, value, words, otherwise, back] of [
      [/^cluster\.watchdog$/, "true", "watchdog on", "watchdog off", "false"],
      [/^cluster\.debug$/, "detail", "DETAIL on", "DETAIL off", "off"]]) {
      const knob = find(path);
      if (!knob) continue;
      const on = knob.value === value;
      asks.push([on ? otherwise : words, on ? otherwise : words, () => this.turn(knob.path, on ? back : value)]);
    }
    this.whatIf.replaceChildren(...asks.map(([words, label, change]) => button(words, async () => {
      const before = this.view?.played;
      await change();
      await this.checkNow();
      if (!this.playButton.disabled) await this.play({ words: label, compareWith: before });
    })));
  }

  // ── Runs

  tell(trouble) {
    this.status.textContent = trouble instanceof Error ? trouble.message : trouble;
    this.status.classList.toggle("fail", trouble instanceof Error);
  }

  progressWords(state) {
    if (state.state === "waiting") return state.ahead ? `waiting for ${state.ahead} other runs` : "waiting";
    return `${state.kind}: ${state.seconds.toFixed(1)} s${state.progress ? ` · ${state.progress}` : ""}`;
  }

  // Runs one job at a time; returns {job, result}, or nothing after it was told why there is none.
  async work(order) {
    this.job?.cancel();
    const job = (this.job = new ServerJob(order, (state) => this.tell(this.progressWords(state))));
    this.cancelButton.hidden = false;
    this.page.setAttribute("aria-busy", "true");
    try {
      const result = await job.result();
      if (this.job !== job) return null;
      this.tell("");
      return { job: job.number, result };
    } catch (refused) {
      if (this.job === job) this.tell(refused);
      if (this.job === job && refused.line > 0) this.editor.show([refused]);
      return null;
    } finally {
      if (this.job === job) {
        this.job = null;
        this.cancelButton.hidden = true;
        this.page.removeAttribute("aria-busy");
      }
    }
  }

  async play({ words = "", compareWith = null, keepAddress = false } = {}) {
    const order = { kind: "run", ...this.subject };
    const done = await this.work(order);
    if (!done) return;
    const played = new Played(done.job, order, done.result, words);
    played.text = this.editor.text;
    this.history.push(played);
    if (this.history.length > 12) this.history.shift();
    this.showRun(played, compareWith);
    if (!keepAddress && played.case.token) {
      history.replaceState(null, "", await linkOf(played.case.token, order.text));
      this.address = location.hash;
    }
    if (keepAddress && played.case.token !== keepAddress)
      this.tell(`another build or another machine plays another run: ${done.result.case.token}`);
  }

  showRun(played, compareWith = null) {
    this.view = new RunView(played, (one, view) => [
      !one.case.token ? "" : button("Copy the link", async (event) => {
        const link = new URL(await linkOf(one.case.token, one.order.text), location.href).href;
        await this.copy(link, event.target);
      }, { class: "share" }),
      element("a", { class: "save", href: `api/jobs/${one.job}/report.html`, download: "deadrank.html" }, "Save as a page"),
      this.compareChoice(one, view),
    ]);
    this.runPlace.replaceChildren(this.view.node);
    if (compareWith) this.view.showCompared(compareWith);
    this.runs.replaceChildren(...(this.history.length < 2 ? [] : this.history.map((one) =>
      button(`${mark[one.one.verdict]} ${one.job}: ${one.label}`, () => this.showRun(one),
        { "aria-pressed": String(one === played) }))));
    this.runPlace.scrollIntoView({ behavior: "instant", block: "start" });
  }

  compareChoice(one, view) {
    const others = this.history.filter((other) => other !== one);
    if (others.length === 0) return "";
    return labelled("compare with", choice([["", "no other"], ...others.map((other) => [String(other.job), `run ${other.job}`])], "",
      (job) => view.showCompared(others.find((other) => String(other.job) === job))));
  }

  async copy(text, node) {
    try {
      await navigator.clipboard.writeText(text);
      node.textContent = "Copied";
    } catch {
      prompt("Copy this address:", text);
    }
    setTimeout(() => (node.textContent = "Copy the link"), 1600);
  }

  // ── Sweep, shrink, probe

  showFinds() {
    this.varied = element("select", { "aria-label": "What the probe varies" });
    this.low = element("input", { "aria-label": "from", placeholder: "from", size: "6" });
    this.high = element("input", { "aria-label": "to", placeholder: "to", size: "6" });
    this.finds.replaceChildren(
      button("Sweep: every fault at every rank and step", () => this.find("sweep", (found) => sweepMap(found)), { id: "sweep" }),
      button("Shrink: the least that still fails", () => this.find("shrink", (found) =>
        shrunkView(found, (toml, seed) => {
          this.seed.value = String(seed);
          this.openText("shrunk", toml);
        }), { keep: this.expectedSymptom }), { id: "shrink" }),
      element("span", { class: "tools" }, this.varied, this.low, this.high,
        button("Probe: from where on it is seen", () => this.find("probe", (found) => probeCurve(found),
          { vary: this.varied.value, low: this.low.value, high: this.high.value }), { id: "probe" })));
    const show = this.knobs.show.bind(this.knobs);
    this.knobs.show = (knobs) => {
      show(knobs);
      this.offerProbes(knobs);
    };
  }

  offerProbes(knobs) {
    const chosen = this.varied.value;
    const numbers = knobs.filter((knob) => /integer|duration|factor|rate|ratio|bytes/.test(knob.type) && knob.value !== "" &&
      (knob.path.startsWith("fault.") || knob.written !== ""));
    this.varied.replaceChildren(...numbers.map((knob) =>
      element("option", { value: knob.path, selected: knob.path === chosen }, `${knob.name} (${knob.part}, now ${knob.value})`)));
  }

  async find(kind, view, more = {}) {
    const done = await this.work({ kind, ...this.subject, ...more });
    if (!done) return;
    this.found.hidden = false;
    this.found.replaceChildren(element("div", { class: "tools" },
      element("h2", { style: "margin:0" }, `${kind} of ${this.id}`), element("span", { class: "grow" }),
      button("Save as JSON", () => saveFile(`${kind}.json`, JSON.stringify(done.result, null, 2), "application/json")),
      button("Close", () => (this.found.hidden = true))), view(done.result));
    this.found.scrollIntoView({ block: "start" });
  }

  // ── The address

  async follow() {
    if (location.hash === this.address) return;
    this.address = location.hash;
    const values = readLink(location.hash);
    try {
      if (values.has("run")) await this.openLink(values.get("run"), values.get("text"));
      else if (values.has("scenario")) await this.openScenario(values.get("scenario"));
    } catch (refused) {
      this.tell(refused);
    }
  }

  // A run of the catalogue is played at once. A text from a link is only shown: its reader decides.
  async openLink(token, text) {
    const told = await ask("POST", "api/token", { token });
    this.explore.checked = told.explore_order;
    this.seed.value = String(told.seed);
    if (text) {
      this.openText(told.id, await unpacked(text));
      return this.tell("This scenario came with the link. Read it, then play it.");
    }
    await this.openScenario(told.id, told.seed);
    if (!told.known) return this.tell("The catalogue here has another version of this scenario. Playing it gives another run.");
    await this.play({ keepAddress: token });
  }
}

async function startWorkbench() {
  try {
    const bench = new Workbench(await ask("GET", "api/catalog"));
    window.bench = bench;
    await bench.follow();
    if (location.hash) return;
    bench.tell("Choose a scenario at the left, or change this one, and press Play.");
    bench.checkNow();
  } catch (refused) {
    document.getElementById("headline").textContent = refused.message;
  }
}

startWorkbench();
