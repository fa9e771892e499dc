// knobs.js — A scenario's settings as fields. Turning one changes the scenario's text, where everybody can read it.
"use strict";

const usualKnobs = new Set(["cluster.nodes", "cluster.gpus_per_node", "cluster.watchdog", "cluster.debug",
  "cluster.collective_timeout"]);
const usualMoments = new Set(["step", "before", "phase", "nth", "at"]);

class KnobPanel {
  // `turn(path, value)` is called when a person has changed a field.
  constructor(turn) {
    this.turn = turn;
    this.node = element("div", { class: "knobs" });
  }

  isUsual(knob) {
    if (usualKnobs.has(knob.path)) return true;
    if (knob.path.includes(".when.")) return knob.written !== "" || usualMoments.has(knob.name) && knob.value !== "";
    return knob.written !== "" || knob.path.startsWith("fault.");
  }

  show(knobs) {
    this.knobs = knobs;
    const open = new Set([...this.node.querySelectorAll("details[open]")].map((one) => one.dataset.part));
    const parts = new Map();
    for (const knob of knobs) parts.set(knob.part, [...(parts.get(knob.part) ?? []), knob]);
    this.node.replaceChildren(...[...parts].map(([part, all]) => {
      const usual = all.filter((knob) => this.isUsual(knob)), rest = all.filter((knob) => !this.isUsual(knob));
      const more = rest.length === 0 ? "" : element("details", { "data-part": part, open: open.has(part) },
        element("summary", {}, `${rest.length} more`), element("div", { class: "fields" }, rest.map((one) => this.field(one))));
      return element("fieldset", {}, element("legend", {}, idWords(part)),
        element("div", { class: "fields" }, usual.map((one) => this.field(one))), more);
    }));
  }

  field(knob) {
    const plain = knob.written.replace(/^"(.*)"$/, "$1").replace(/^'(.*)'$/, "$1");
    const act = (value) => this.turn(knob.path, value);
    const attributes = { "data-knob": knob.path, title: `${knob.what}${knob.what ? "; " : ""}${knob.type}` };
    let field;
    if (knob.choices) {
      const usual = knob.written ? "" : `usual: ${knob.value || "none"}`;
      field = choice([["", usual || "as usual"], ...knob.choices.map((one) => [one, one])], plain, act);
    } else {
      field = element("input", { value: plain, placeholder: knob.value || "—", onchange: () => act(field.value) });
    }
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    const drawn = knob.written && plain !== knob.value ? element("small", { class: "dim" }, `now ${knob.value}`) : "";
    return labelled([knob.name, drawn], field);
  }

  find(pattern) {
    return (this.knobs ?? []).find((knob) => pattern.test(knob.path));
  }
}
