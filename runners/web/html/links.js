// links.js — A run's address: its replay token, and the text where it is not the catalogue's.
"use strict";

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const unpackedMost = 1 << 20;

async function unpacked(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (one) => one.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts).text();
    size += value.length;
    if (size > unpackedMost) throw new Refused({ what: "the link's text is longer than a scenario may be" });
    parts.push(value);
  }
}

// "#run=dr1-…", "#run=dr1-…&text=…", "#scenario=communication/…"
async function linkOf(token, text) {
  return `#run=${encodeURI(token).replaceAll("&", "%26")}${text ? `&text=${await packed(text)}` : ""}`;
}

function readLink(hash) {
  const values = new Map();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals > 0) values.set(part.slice(0, equals), decodeURIComponent(part.slice(equals + 1)));
  }
  return values;
}
