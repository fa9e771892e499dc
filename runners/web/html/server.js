// server.js — Requests to the program that served this page, and jobs that are polled until they end.
"use strict";

// What the program refused: what and remedy, and the place in the scenario if it has one.
class Refused extends Error {
  constructor({ what, remedy, line, column }) {
    super(remedy ? `${what} — ${remedy}` : what);
    Object.assign(this, { what, remedy, line, column });
  }
}

async function ask(method, path, body) {
  let response;
  try {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Refused({ what: "the program does not answer", remedy: "is deadrank web still running?" });
  }
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = { error: { what: text.trim() || `status ${response.status}`, remedy: "" } };
  }
  if (!response.ok) throw new Refused(answer.error ?? { what: `status ${response.status}` });
  return answer;
}

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const openJobs = new Set();

// Starts a job and returns its result. `onState` sees {state, ahead, seconds, progress} until it ends; the job
// that it is given can be cancelled.
class ServerJob {
  constructor(order, onState) {
    Object.assign(this, { order, onState, number: 0 });
  }
  async result() {
    this.number = (await ask("POST", "api/jobs", this.order)).job;
    openJobs.add(this.number);
    try {
      for (let pause = 80; ; pause = Math.min(pause * 1.4, 500)) {
        const state = await ask("GET", `api/jobs/${this.number}`);
        this.onState(state);
        if (state.state === "done") return await ask("GET", `api/jobs/${this.number}/result`);
        if (state.trouble) throw new Refused({ what: state.trouble.trim() });
        await wait(pause);
      }
    } finally {
      openJobs.delete(this.number);
    }
  }
  cancel() {
    if (this.number) ask("DELETE", `api/jobs/${this.number}`).catch(() => {});
  }
}

// A page that is closed in the middle of a run does not let it run on.
addEventListener("pagehide", () => {
  for (const number of openJobs) fetch(`api/jobs/${number}`, { method: "DELETE", keepalive: true });
});
