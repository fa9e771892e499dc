// catalog.js — The catalogue at the left: filters, and the scenarios that pass them.
"use strict";

class CatalogList {
  constructor(node, catalog, open) {
    Object.assign(this, { node, catalog, open });
    this.filters = { text: "", class: "", stage: "", symptom: "", cause: "", project: "", workload: "", kind: "" };
    this.list = element("div", { class: "scenarios", role: "list" });
    this.count = element("p", { class: "dim", role: "status" });
    this.search = element("input", {
      type: "search", placeholder: "Search titles, stories, ids", "aria-label": "Search the catalogue",
      oninput: () => this.filter("text", this.search.value),
    });
    const active = element("details", {}, element("summary", {}, "Filters"), this.fields());
    node.replaceChildren(
      element("div", { class: "tools" }, button("New scenario", () => open("")), element("span", { class: "grow" }),
        button("Clear filters", () => this.clear())),
      this.search, active, this.count, this.list);
    this.show();
  }

  fields() {
    const { classes, stages, symptoms, causes, scenarios } = this.catalog;
    const used = (values) => [...new Set(values)].sort().map((one) => [one, one]);
    const named = (entries, key) => entries
      .filter((one) => scenarios.some((scenario) => [scenario[key]].flat().includes(one.id)))
      .map((one) => [one.id, one.name]);
    const all = {
      class: ["class", named(classes, "classes")],
      stage: ["stage", named(stages, "stage")],
      symptom: ["symptom", named(symptoms, "symptom")],
      cause: ["cause", named(causes, "cause")],
      project: ["framework", used(scenarios.flatMap((one) => one.projects))],
      workload: ["workload", used(scenarios.map((one) => one.workload))],
      kind: ["code", [["real", "real code"], ["planted", "planted in a simulated job"]]],
    };
    this.selects = Object.entries(all).map(([name, [words, options]]) => {
      const select = choice([["", "any"], ...options], "", (value) => this.filter(name, value));
      select.dataset.filter = name;
      return labelled(words, select);
    });
    return element("div", { class: "filters" }, this.selects);
  }

  filter(name, value) {
    this.filters[name] = value;
    this.show();
  }

  clear() {
    for (const name of Object.keys(this.filters)) this.filters[name] = "";
    for (const select of this.node.querySelectorAll("select")) select.value = "";
    this.search.value = "";
    this.show();
  }

  passes(one) {
    const wanted = this.filters;
    const same = (name, value) => !wanted[name] || wanted[name] === value;
    const words = wanted.text.toLowerCase().split(/\s+/);
    const text = `${one.id} ${one.title} ${one.story} ${one.replays.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word)) && same("stage", one.stage) &&
      same("symptom", one.symptom) && same("cause", one.cause) && same("workload", one.workload) &&
      same("kind", one.real_code ? "real" : "planted") &&
      (!wanted.class || one.classes.includes(wanted.class)) &&
      (!wanted.project || one.projects.includes(wanted.project));
  }

  show() {
    const { scenarios } = this.catalog;
    const shown = scenarios.filter((one) => this.passes(one));
    this.count.textContent = `${shown.length} of ${scenarios.length} scenarios`;
    const byStage = new Map();
    for (const one of shown) byStage.set(one.stage, [...(byStage.get(one.stage) ?? []), one]);
    this.list.replaceChildren(...[...byStage].map(([stage, rows]) =>
      element("section", {}, element("h2", {}, idWords(stage)), rows.map((one) => this.row(one)))));
    this.mark(this.here);
  }

  row(one) {
    return element("a", { class: "scenario", role: "listitem", href: `#scenario=${one.id}`, "data-id": one.id },
      element("b", {}, one.title || idWords(one.id.split("/").pop())),
      element("span", { class: "dim" }, `${idWords(one.symptom)}${one.real_code ? " · real code" : ""}`));
  }

  mark(id) {
    this.here = id;
    for (const row of this.list.querySelectorAll(".scenario")) {
      if (row.dataset.id === id) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  find(id) {
    return this.catalog.scenarios.find((one) => one.id === id);
  }
}
