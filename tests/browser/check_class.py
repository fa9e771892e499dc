# tests/browser/check_class.py LEARNERS BOARD [PICTURES] — A learner and a teacher in class mode, whose first bug is
# communication/rank_leaves_all_reduce under seed 1. Exit code 0: all is well, 1: complaints, 77: there is no Chromium.
import json
import os
import sys
import urllib.request

import browser


def main(learners, board, pictures=None):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    complaints = []
    if pictures:
        os.makedirs(pictures, exist_ok=True)

    def shot(page, name):
        if pictures:
            page.shot(os.path.join(pictures, name), True)

    def that(holds, words):
        if not holds:
            complaints.append(words)

    with urllib.request.urlopen(board + "api/board") as answer:
        bug = json.load(answer)["bugs"][0]
    origin = learners.rsplit("/", 2)[0] + "/"
    with browser.Browser(server=origin) as page:
        page.visit(learners)
        page.until("document.querySelector('#name')")
        page.type("#name", "Grace")
        page.click(".join .primary")
        that(page.until("document.querySelectorAll('.look').length > 2", 10), "there is no evidence to buy")
        left = page.evaluate("document.querySelectorAll('.look').length")
        while left > 0 and page.until(f"document.querySelectorAll('.look').length === {left}", 10):
            page.click(".look")
            left -= 1
        that(page.until("document.querySelector('.timeline canvas')", 10), "there is no timeline")
        shot(page, "class_evidence.png")
        words = page.evaluate("document.body.innerText")
        that(bug["answer"] not in words and bug["scenario"] not in words, "the page gives the answer away")
        that("steps count from 0" in words, "the question asks since which step, and the form does not")
        guesses = [(bug["culprits"][0] + 1, bug["step"]), (bug["culprits"][0], bug["step"] + 1),
                   (bug["culprits"][0], bug["step"])]
        for wrong, (rank, step) in enumerate(guesses):
            page.type("#rank", str(rank))
            page.type("#step", str(step))
            page.type("#cause", bug["cause"])
            page.click("#guess")
            if wrong < 2:
                told = page.until(f"/{wrong + 1} wrong so far/.test(document.body.innerText)", 10)
                that(told, f"a guess of rank {rank} and step {step} is not told to be wrong")
        that(page.until("document.querySelector('.fix')", 10), "the right guess is not taken")
        shot(page, "class_fixes.png")
        right = page.evaluate(f"[...document.querySelectorAll('.fix')].findIndex((one) => one.innerText === {json.dumps(bug['fix'])})")
        page.click(f"[data-fix='{right}']")
        that(page.until("/the trouble is gone/.test(document.body.innerText)", 60), "the right fix repairs nothing")
        shot(page, "class_solved.png")
        that(bug["answer"] in page.evaluate("document.body.innerText"), "the answer is not shown at the end")
        complaints += [f"the learner's page: {error}" for error in page.errors]
    with browser.Browser(width=390, height=800, dark=True, server=origin) as page:
        page.visit(board)
        that(page.until("document.querySelector('td.fixed')", 10), "the board does not show who fixed it")
        shot(page, "board_phone_dark.png")
        that(page.evaluate("document.documentElement.scrollWidth") <= 390, "the board is wider than a phone")
        complaints += [f"the board: {error}" for error in page.errors]
    print("\n".join(complaints) or "found, fixed and on the board")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
