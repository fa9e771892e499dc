# tests/browser/check_report.py — Opens a report as a reader would: it must draw, stay free of errors and
# requests, and lead where it says. Exit code 0: all is well, 1: complaints, 77: there is no Chromium here.
import json
import sys

import browser

COLORS = """(() => {
  const canvas = document.querySelector('%s');
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const paper = copy.getContext('2d', { willReadFrequently: true });
  paper.drawImage(canvas, 0, 0);
  const pixels = paper.getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Map();
  for (let i = 0; i < pixels.length; i += 16) {
    if (pixels[i + 3] < 200) continue;
    const color = [pixels[i], pixels[i + 1], pixels[i + 2]].map((c) => c >> 3).join();
    seen.set(color, (seen.get(color) ?? 0) + 1);
  }
  return [...seen.values()].filter((count) => count > 20).length })()"""

RUNS = """data.cases.map((one) => one.runs.map((run) => {
  const { rows, kinds } = rowsOf(run.rows);
  return { variant: run.variant, world: run.world, rows: rows.length,
    shown: rows.reduce((n, row) => n + row.count, 0), left: countOf(rangesOf(run.rows.left_out)),
    slices: rows.reduce((n, row) => n + row.kind.length, 0),
    late: rows.some((row) => row.begin.some((t, i) => t > run.until || (row.end[i] >= 0 && row.end[i] < t))),
    unknown: rows.some((row) => row.kind.some((kind) => kinds[kind] === undefined)) } }))"""


class Check(browser.Check):
    def data_reads_back(self):
        cases = self.value(RUNS)
        self.that(cases, "there is no case in it")
        for runs in cases:
            for run in runs:
                whole = run["shown"] + run["left"] == run["world"]
                self.that(whole, f"rows stand for {run['shown']} of {run['world']} ranks")
                self.that(run["slices"] >= run["rows"], f"rows are empty: {run}")
                self.that(not run["late"] and not run["unknown"], f"slices do not read back: {run}")
        return cases

    def run_is_shown(self, place, variant, title):
        here = self.value("location.hash")
        self.that(here == f"#{place}.{variant}", f"a click on the cell of {place}.{variant} led to {here}")
        self.that(self.text("h1") == title, f"it shows '{self.text('h1')}', not '{title}'")
        marked = self.value("document.querySelector('#matrix [aria-current=true]')?.dataset.run")
        self.that(marked == f"{place}.{variant}", f"the matrix marks {marked}")
        self.that(self.value(COLORS % "canvas.map") >= 1, f"the map of {place}.{variant} is blank")
        self.that(self.value(COLORS % ".timeline canvas") >= 6, f"the timeline of {place}.{variant} is empty")

    def cells_lead_to_their_runs(self, cases):
        titles = self.value("data.cases.map((one) => one.title || one.scenario)")
        for place, runs in enumerate(cases[:6]):
            for run in runs:
                self.page.click(f'[data-run="{place}.{run["variant"]}"]')
                self.run_is_shown(place, run["variant"], titles[place])
                rows = self.value("document.querySelectorAll('details table tbody tr').length")
                whole = rows == min(run["rows"], 2000)
                self.that(whole, f"the table has {rows} lines for {run['rows']} rows")

    def answers_to_hand(self):
        """The first trial's faulty run: keys, mouse, theme, copying."""
        self.page.click('[data-run="0.fault"]')
        self.value("document.querySelector('.timeline canvas').focus()")
        says = self.value("[...data.cases[0].runs[0].marks, ...data.cases[0].runs[0].alarms][0]?.says ?? ''")
        self.page.key("f")
        self.that(says and says in self.text(".timeline .status"), f"F does not go to the fault: "
                  f"'{self.text('.timeline .status')}' lacks '{says}'")
        self.page.key("0")  # a fault may be shown as near as it gets
        self.page.settle()
        before = self.value("document.querySelector('.timeline canvas').toDataURL()")
        self.page.key("+")
        self.page.settle()
        after = self.value("document.querySelector('.timeline canvas').toDataURL()")
        self.that(before != after, "+ does not zoom")
        self.page.key("0")
        x, y = self.value("(() => { const canvas = document.querySelector('.timeline canvas');"
                          "const box = canvas.getBoundingClientRect();"
                          "return [box.x + box.width / 2, box.y + 60] })()")
        self.page.point(x, y)
        self.that("rank" in self.text("#tip") and not self.value("document.getElementById('tip').hidden"),
                  f"hovering says '{self.text('#tip')}'")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = self.value(ground)
        self.page.click("#theme")
        self.that(self.value(ground) != light, "the button does not change the theme")
        self.that(self.value(COLORS % ".timeline canvas") >= 6, "the timeline is blank in the other theme")
        self.listen_to_copying()
        self.page.click(".command button")
        self.was_copied(self.text(".command code"))

    def listen_to_copying(self):
        self.value("navigator.clipboard ? (navigator.clipboard.writeText = async (text) =>"
                   "{ window.copied = text }) : (document.execCommand = () =>"
                   "(window.copied = document.querySelector('textarea').value))")

    def was_copied(self, command):
        copied = self.value("window.copied")
        same = copied == command and command.startswith("deadrank ")
        self.that(same, f"'{copied}' was copied, not '{command}'")

    def table_of_standings(self):
        """Each cell opens its own words and command, once; the switch leaves the bad ones."""
        cells = self.value("document.querySelectorAll('#standings tbody .stood').length")
        told = self.value("new Set(data.standings.map((one) => one.bug + one.program)).size")
        self.that(cells == told > 0, f"{told} cells are due, {cells} are there")
        for number in range(min(cells, 12)):
            self.value(f"document.querySelectorAll('#standings tbody .stood')[{number}].click()")
            shown = self.value("document.querySelectorAll('#standings .detail').length")
            self.that(shown == 1, f"{shown} cells are open after a click on one")
            command = self.text("#standings .detail code")
            due = self.value("(({ again, program }) => [again, program])(data.standings.find((one) =>"
                             f"one.again === {json.dumps(command)}) ?? {{}})")
            column = self.value(f"(() => {{ const cell = document.querySelectorAll('#standings tbody .stood')"
                                f"[{number}].closest('td'); return document.querySelectorAll("
                                "'#standings thead th')[cell.cellIndex].innerText })()")
            self.that(due == [command, column], f"cell {number} of '{column}' opens '{command}'")
        self.page.click("#standings .detail button")
        self.was_copied(command)
        rows = "document.querySelectorAll('#standings tbody tr%s').length"
        bad = self.value(rows % ":not(.detail):has(.fail, .unknown)")
        self.page.click("#standings .tools button")
        left = self.value(rows % ":not([hidden])")
        self.that(0 < left == bad, f"{bad} rows went badly, {left} are left")

    def watched_run(self):
        """A program that was only watched: its command and its alarms, and nothing that a scenario has."""
        names = self.value("[...document.querySelectorAll('#run .facts dt')].map((one) => one.innerText).filter(Boolean)")
        self.that(names == ["was said", "the job", "see it again"], f"the facts are {names}")
        self.that(self.text("h1") == self.value("data.cases[0].scenario") != "", f"it is called '{self.text('h1')}'")
        self.that(self.text("#run .command code").startswith("deadrank watch "), "its command is not there")
        text = self.text("body")
        for word in ("with its fault", "healed", "seed", "scenario", "undefined", "null", "?"):
            self.that(word not in text, f"the page has the word '{word}'")
        self.that(self.value("!document.querySelector('#matrix a, #run .tabs a, #tally *')"), "it is listed as a trial")
        alarms = self.value("data.cases[0].runs[0].alarms.map((one) => one.symptom.replaceAll('_', ' '))")
        self.that(alarms and all(one in text for one in alarms), f"the alarms {alarms} are not told")
        self.that(self.value(COLORS % ".timeline canvas") >= 4, "the timeline is empty")

    def map_of_moments(self):
        """The legend counts runs: as many as the headline has."""
        counts = self.value("[...document.querySelectorAll('#moments .legend span')].map((one) =>"
                            " Number(one.innerText.split(' ').pop()))")
        due = int(self.value("data.headline").split()[0])
        self.that(sum(counts) == due, f"the legend counts {counts}, {sum(counts)} in all, of {due} runs")
        self.page.click("#moments .moment")
        self.that(self.text("#moments .command code").startswith("deadrank inject"), "a cell opens no command")


def main(path):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    with browser.Browser() as page:
        page.open(path)
        page.settle()
        check = Check(page)
        cases = check.value("data.cases.length") and check.data_reads_back()
        moments = check.value("Boolean(data.moments)")
        if moments:
            check.map_of_moments()
        if cases and check.value("data.cases[0].commands[0]?.startsWith('deadrank watch ')"):
            check.watched_run()
        elif cases:
            check.cells_lead_to_their_runs(cases)
            check.answers_to_hand()
        elif not moments:
            check.listen_to_copying()
            check.table_of_standings()
        check.complaints += [f"the page complained: {error}" for error in page.errors]
    print("\n".join(check.complaints) or "all is well")
    return 1 if check.complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
