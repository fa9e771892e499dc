// editor.js — A scenario's text with line numbers; what is wrong with it is marked where it is. The program beside it.
"use strict";

class Editor {
  constructor(onChange) {
    this.onChange = onChange;
    this.numbers = element("pre", { class: "numbers", "aria-hidden": "true" });
    this.area = element("textarea", {
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off",
      "aria-label": "The scenario as TOML", "aria-describedby": "problems",
      oninput: () => this.changed(), onscroll: () => (this.numbers.scrollTop = this.area.scrollTop),
    });
    this.problems = element("div", { id: "problems", class: "problems", role: "status" });
    this.node = element("div", {}, element("div", { class: "editor" }, this.numbers, this.area), this.problems);
    this.area.addEventListener("keydown", (event) => {
      if (event.key !== "Tab" || event.shiftKey || event.ctrlKey) return;
      event.preventDefault();
      this.area.setRangeText("    ", this.area.selectionStart, this.area.selectionEnd, "end");
      this.changed();
    });
  }

  get text() {
    return this.area.value;
  }
  set text(text) {
    const { scrollTop, selectionStart } = this.area;
    this.area.value = text;
    this.area.selectionStart = this.area.selectionEnd = Math.min(selectionStart, text.length);
    this.area.scrollTop = scrollTop;
    this.show([]);
  }

  changed() {
    this.number();
    this.onChange();
  }

  number(wrong = new Set()) {
    const lines = this.area.value.split("\n").length;
    this.numbers.replaceChildren(...Array.from({ length: Math.min(lines, 20_000) }, (_, i) =>
      element("span", { class: wrong.has(i + 1) ? "wrong" : null }, `${i + 1}\n`)));
    this.numbers.scrollTop = this.area.scrollTop;
  }

  // [{line, column, what, remedy}]
  show(problems) {
    this.number(new Set(problems.map((one) => one.line)));
    this.area.setAttribute("aria-invalid", String(problems.length > 0));
    this.problems.replaceChildren(...problems.map((one) => {
      const place = one.line > 0 ? `line ${one.line}, column ${one.column}` : "the scenario";
      return element("button", { type: "button", class: "problem", onclick: () => this.goTo(one.line, one.column) },
        element("b", {}, place), ` ${one.what}`, one.remedy ? element("span", { class: "dim" }, ` — ${one.remedy}`) : "");
    }));
  }

  goTo(line, column) {
    if (line < 1) return;
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const at = before + Math.max(0, column - 1);
    this.area.focus();
    this.area.setSelectionRange(at, at + 1);
    this.area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(this.area).lineHeight));
  }
}

// A scenario's program, which lies in a file of its own: as every rank runs it, and the patch that puts the bug in.
class ProgramPane {
  constructor() {
    this.node = element("details", { class: "program", open: true, hidden: true });
  }

  show(program) {
    this.node.hidden = !program;
    if (!program) return this.node.replaceChildren();
    const patch = program.patch.replace(/^\n|\n$/g, "").split("\n");
    const sign = { "+": "added", "-": "removed", "@": "dim" };
    this.node.replaceChildren(
      element("summary", {}, "The program with its bug, as every rank runs it"),
      element("pre", { class: "scroll lines", tabindex: "0", "aria-label": "The program" }, program.lines.join("\n")),
      program.patch ? element("h2", {}, "The patch that puts the bug in") : "",
      program.patch ? element("pre", { class: "scroll patch" },
        patch.map((line) => element("span", { class: sign[line[0]] }, `${line}\n`))) : "");
  }
}
