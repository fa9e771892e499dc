# tests/browser/check_workbench.py HERE ELSEWHERE [PICTURES] — Uses the workbench as a person would: browses, plays,
# drags the cursor, asks what if, writes a scenario from nothing, and opens the link of a run on a second server.
# Exit code 0: all is well, 1: complaints, 77: there is no Chromium here.
import json
import os
import sys
import time
import urllib.request

import browser

PLAYED = "bench.view && !bench.job"


class Check(browser.Check):
    pictures = None

    def shot(self, name, whole=True):
        if self.pictures:
            self.page.shot(os.path.join(self.pictures, name), whole)

    def comes(self, expression, words, seconds=60):
        self.that(self.page.until(expression, seconds), f"{words}; status: '{self.text('#status')}'")

    def browses(self):
        page = self.page
        all_of_them = self.value("document.querySelectorAll('.scenario').length")
        self.that(all_of_them > 250, f"the catalogue shows {all_of_them} scenarios")
        page.click("nav details summary")
        page.type("select[data-filter=symptom]", "collective_deadlock_hang")
        page.type("select[data-filter=kind]", "planted")
        some = self.value("document.querySelectorAll('.scenario').length")
        self.that(0 < some < all_of_them, f"the filters leave {some} of {all_of_them}")
        page.type("nav input[type=search]", "never came")
        page.click(".scenario[data-id='communication/rank_leaves_all_reduce']")
        self.comes("document.querySelector('h1').innerText === 'The one who never came'", "a click opens no scenario")
        self.comes("document.querySelector('[data-knob=\"fault.0.rank\"]')", "there are no knobs")

    def shows_a_program(self):
        self.page.type("nav input[type=search]", "finaliser_runs_on_rank_zero_only")
        self.page.click(".scenario")
        self.comes("document.querySelector('.program .lines')", "the program of real code is not shown")
        self.that("          if rank == 0:\n" in self.text(".program .lines"), "its bug is not in it")
        self.that("-        finalise(step)" in self.text(".patch"), "the patch is not shown")
        self.page.click("nav .tools button:last-child")

    def plays(self):
        self.page.click("#play")
        self.comes(PLAYED, "nothing was played")
        tabs = self.value("[...document.querySelectorAll('#run .tabs a')].map((one) => one.dataset.variant)")
        self.that(tabs == ["fault", "control", "healed"], f"the runs are {tabs}")
        self.that("alarms" in self.text("#run .facts"), "no alarms are listed")
        self.that(self.value("document.querySelectorAll('.timeline canvas').length") == 3,
                  "control and healed run are not beside it")

    def drags_virtual_time(self):
        self.value("document.querySelector('.scrub').scrollIntoView({block: 'center'})")
        x, y, width = self.value("(() => { const box = document.querySelector('.scrub').getBoundingClientRect();"
                                 "return [box.x, box.y + box.height / 2, box.width] })()")
        self.page.drag(x + width - 10, y, x + width * 0.15)
        early = self.value("bench.view.views[0].timeline.cursor")
        until = self.value("bench.view.views[0].run.until")
        self.that(0 <= early < until / 2, f"dragging back leads to {early} of {until}")
        self.comes("document.querySelector('.waits h2').innerText.includes((bench.view.views[0].timeline.cursor / 1e6).toFixed(6))",
                   "the waits do not follow the cursor", 10)
        self.that(self.value("bench.view.views[1].timeline.cursor") == early, "the control's cursor does not follow")
        self.page.drag(x + width * 0.15, y, x + width * 0.95)
        self.comes("document.querySelectorAll('.waits svg .box.root').length === 1", "no root of the hang is shown", 10)
        self.value("document.querySelector('.timeline canvas').focus()")
        before = self.value("bench.view.views[0].timeline.cursor")
        self.page.key("ArrowLeft")
        self.that(self.value("bench.view.views[0].timeline.cursor") < before, "the arrow key does not move the cursor")

    def asks_what_if(self):
        self.value("[...document.querySelectorAll('.what-if button')].find((one) => one.innerText === 'watchdog on').click()")
        self.comes("bench.history.length === 2 && !bench.job", "what if plays nothing")
        self.that("watchdog = true" in self.value("bench.editor.text"), "the text does not say what was changed")
        self.comes("document.querySelectorAll('.compare tr.differs').length > 0", "no comparison is shown", 5)

    def turns_a_knob(self):
        self.page.type("[data-knob='fault.0.rank']", "5")
        self.comes("/rank = 5 /.test(bench.editor.text)", "a knob does not change the text", 10)
        self.page.click("#play")
        self.comes("bench.history.length === 3 && !bench.job", "the edited scenario is not played")
        self.that("rank 5" in self.value("bench.view.played.run('fault').culprit"), "the fault is not at rank 5")

    def writes_from_nothing(self):
        self.page.click("nav .tools button")
        self.comes("bench.id === 'my_bug' && bench.editor.text.startsWith('# mine')", "no new scenario", 5)
        self.value("bench.editor.text = bench.editor.text.replace('kill_rank', 'kill_rnak'); bench.checkNow()")
        self.comes("document.querySelector('.problem')", "a misspelt fault is not told", 5)
        told = self.text(".problem")
        self.that("line 21" in told and "kill_rank" in told, f"it is told as '{told}'")
        self.value("bench.editor.text = bench.editor.text.replace('kill_rnak', 'kill_rank'); bench.checkNow()")
        self.comes("!document.querySelector('.problem') && !document.querySelector('#play').disabled", "it stays wrong", 5)
        self.page.click("#play")
        self.comes("bench.history.length === 4 && !bench.job", "the new scenario is not played")
        self.that(self.value("bench.view.played.case.scenario") == "mine/my_bug", "it has another name")

    def finds(self):
        self.value("location.hash = 'scenario=communication/rank_leaves_all_reduce'")
        self.comes("bench.id === 'communication/rank_leaves_all_reduce' && !document.querySelector('#play').disabled",
                   "the address does not open a scenario")
        self.page.click("#sweep")
        self.comes("document.querySelectorAll('button.heat').length > 10", "the sweep shows no map", 110)
        self.page.click("button.heat")
        self.that("rank" in self.text(".told") or "job" in self.text(".told"), "a cell tells nothing")
        self.shot("sweep.png")
        self.page.click("#shrink")
        self.comes("/^keeps/.test(document.querySelector('.found dl')?.innerText ?? '')", "nothing is shrunk")
        self.page.type("select[aria-label='What the probe varies']", "workload.steps")
        self.page.type("input[aria-label=from]", "16")
        self.page.type("input[aria-label=to]", "20")
        self.page.click("#probe")
        self.comes("document.querySelectorAll('.probe .point').length > 1", "the probe shows no curve")
        self.shot("probe.png")

    def cancels(self):
        self.page.click("#sweep")
        self.comes("bench.job && bench.job.number", "no job", 10)
        self.page.click("#cancel")
        self.comes("!bench.job && /cancelled/.test(document.querySelector('#status').innerText)", "it is not cancelled", 15)

    def leaves_nothing_behind(self, here):
        """A page that is closed in the middle of a run."""
        self.page.click("#sweep")
        self.comes("bench.job && bench.job.number", "no job", 10)
        job = self.value("bench.job.number")
        self.page.visit("about:blank")
        state = ""
        for _ in range(100):
            with urllib.request.urlopen(f"{here}api/jobs/{job}") as answer:
                state = json.load(answer)["state"]
            if state not in ("waiting", "running"):
                break
            time.sleep(0.1)
        self.that(state == "cancelled", f"the run of a page that was closed is {state}")


def main(here, elsewhere, pictures=None):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    complaints = []
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    Check.pictures = pictures
    with browser.Browser(server=here) as page:
        page.visit(here)
        check = Check(page)
        check.comes("window.bench && bench.knobs.knobs", "the page does not start")
        check.shot("start.png", False)
        check.shows_a_program()
        check.shot("program.png")
        check.browses()
        check.plays()
        check.shot("played.png")
        link = check.value("location.hash")
        check.that(link.startswith("#run=dr1-"), f"the address is {link}")
        check.drags_virtual_time()
        check.shot("dragged.png")
        check.asks_what_if()
        check.shot("compared.png")
        check.turns_a_knob()
        edited = check.value("location.hash")
        check.that("&text=" in edited, f"the address of an edited scenario is {edited[:80]}")
        check.writes_from_nothing()
        check.finds()
        check.cancels()
        check.leaves_nothing_behind(here)
        complaints += check.complaints + [f"the page complained: {error}" for error in page.errors]
    with browser.Browser(width=390, height=800, dark=True, server=elsewhere) as page:
        page.visit(elsewhere + link)
        check = Check(page)
        check.comes("window.bench && " + PLAYED, "the link plays nothing elsewhere", 90)
        token = check.value("bench.view?.played.case.token")
        check.that(token and token in link, f"elsewhere it is {token}, not {link}")
        wide = check.value("document.documentElement.scrollWidth")
        check.that(wide <= 390, f"on a phone the page is {wide} wide")
        check.shot("phone_dark.png")
        page.evaluate(f"location.hash = {edited!r}")
        check.comes("bench.editor.text.includes('rank = 5 ')", "the text of the link is not shown", 10)
        check.that(check.value("bench.history.length") <= 1, "a text from a link was played unasked")
        check.page.click("#play")
        check.comes(PLAYED + " && bench.view.played.order.text", "the text of the link cannot be played")
        check.that("rank 5" in check.value("bench.view.played.run('fault')?.culprit ?? ''"), "it is another run")
        complaints += check.complaints + [f"elsewhere: {error}" for error in page.errors]
    print("\n".join(complaints) or "browsed, played, dragged, shared and opened elsewhere")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
