// shell.js — What pages share: the theme, words of ids, files to save, fields with labels.
"use strict";

const idWords = (id) => id.replaceAll("_", " ");

function followTheme(redraw) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    redraw();
  };
  set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    set(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
}

function saveFile(name, text, type = "text/plain") {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const button = (text, act, attributes = {}) =>
  element("button", { type: "button", onclick: act, ...attributes }, text);

function labelled(words, field, attributes = {}) {
  return element("label", { class: "field", ...attributes }, element("span", {}, words), field);
}

function choice(options, chosen, act) {
  const select = element("select", { onchange: () => act(select.value) },
    options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)));
  return select;
}

// The newest call wins: what an older one finds is dropped.
function latest(work) {
  let newest = 0;
  return async (...given) => {
    const own = ++newest;
    const found = await work(...given);
    return own === newest ? found : undefined;
  };
}

function delayed(act, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
}
