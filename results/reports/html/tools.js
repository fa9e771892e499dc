// tools.js — Small things that every part uses: elements, sets of ranks as "0-3,7", times in words.
"use strict";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAll(made, attributes, children);
  return made;
}

function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAll(made, attributes, children);
  return made;
}

function setAll(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
}

// "0-3,7" → [[0, 3], [7, 7]]
function rangesOf(text) {
  if (!text) return [];
  return text.split(",").map((part) => {
    const [first, last] = part.split("-").map(Number);
    return [first, last === undefined ? first : last];
  });
}

const countOf = (ranges) => ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
const holds = (ranges, rank) => ranges.some(([first, last]) => first <= rank && rank <= last);

// "rank 3", "ranks 0–393, 395–511 (511)"
function ranksText(ranges, most = 3, counted = true) {
  const count = countOf(ranges);
  if (count === 0) return "the job";
  if (count === 1) return `rank ${ranges[0][0]}`;
  const parts = ranges.slice(0, most).map(([a, b]) => (a === b ? a : `${a}${b === a + 1 ? ", " : "–"}${b}`));
  const rest = ranges.length > most ? ", …" : "";
  return `ranks ${parts.join(", ")}${rest}${counted && count > 3 ? ` · ${count.toLocaleString("en")}` : ""}`;
}

// Microseconds in a reader's words, with digits enough to tell times `near` apart.
function timeText(micros, near = 0) {
  if (micros < 0) return "never";
  const most = Math.max(micros, near);
  const unit = most < 1e3 ? [1, "µs"] : most < 1e6 ? [1e3, "ms"] : [1e6, "s"];
  if (unit[0] === 1e6 && micros >= 1.2e8 && near >= 1e6) {
    const seconds = Math.round(micros / 1e6);
    if (seconds >= 7200) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
    return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
  const digits = near > 0 ? Math.max(0, Math.ceil(-Math.log10(near / unit[0]) - 1e-9)) : micros < 1e3 ? 0 : 1;
  return `${(micros / unit[0]).toFixed(Math.min(digits, 6))} ${unit[1]}`;
}

const exactTime = (micros) => `${(micros / 1e6).toFixed(6)} s`;

// "all_reduce 41 of tp", "send 4 to 3 of pp"; work has no number of its own.
const sliceName = (kind, number) =>
  kind.lane === 2 && kind.series > 1 ? kind.label.replace(/^\S+/, `$& ${number}`) : kind.label;

function copyButton(text) {
  const button = element("button", { type: "button", "aria-label": `Copy: ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    let copied = false;
    try {
      await navigator.clipboard.writeText(text);
      copied = true;
    } catch {
      const area = element("textarea", { style: "position:fixed;opacity:0" }, text);
      document.body.append(area);
      area.select();
      copied = document.execCommand("copy");
      area.remove();
    }
    button.textContent = copied ? "Copied" : "Select it";
    setTimeout(() => (button.textContent = "Copy"), 1600);
  });
  return button;
}

const tip = {
  show(x, y, ...content) {
    const box = document.getElementById("tip");
    box.replaceChildren(...content);
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    box.style.top = `${y + 18 + height > innerHeight ? y - height - 12 : y + 18}px`;
  },
  hide() {
    document.getElementById("tip").hidden = true;
  },
};

const mark = { pass: "✔", fail: "✘", unknown: "?" };
const badge = (verdict) => element("span", { class: `badge ${verdict}` }, `${mark[verdict]} ${verdict}`);
