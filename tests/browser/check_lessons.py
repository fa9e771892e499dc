# tests/browser/check_lessons.py — Opens what `deadrank learn --html DIR` and `--quiz N --html DIR` wrote: no errors, no
# answer in the students' folder, the run's timeline in the lesson, links that lead somewhere, a search that finds, and
# sheets on which nothing is cut off. Exit codes as check_report.py.
import base64
import pathlib
import re
import sys

import browser

PRINTABLE = 700  # CSS pixels between the margins of A4


def pages_printed(page):
    printed = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))


def cut_off(page):
    """Elements whose text is wider than they are on paper."""
    page.call("Emulation.setEmulatedMedia", media="print")
    page.call("Emulation.setDeviceMetricsOverride", width=PRINTABLE, height=1000, deviceScaleFactor=1, mobile=False)
    wide = page.evaluate(
        "[...document.querySelectorAll('body *')].filter((one) => one.scrollWidth > one.clientWidth + 1 &&"
        " one.clientWidth > 0 && getComputedStyle(one).display !== 'inline')"
        ".map((one) => `${one.tagName}: ${one.textContent.slice(0, 60)}`)")
    page.call("Emulation.setEmulatedMedia", media="")
    page.call("Emulation.setDeviceMetricsOverride", width=1000, height=1200, deviceScaleFactor=1, mobile=False)
    return wide


def dead_links(page, directory):
    links = page.evaluate("[...document.links].map((one) => one.getAttribute('href'))")
    return [link for link in links if not (directory / link).exists()]


def is_told(page):
    """The page shows an answer, be it behind a click."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    text = page.evaluate("document.body.innerText")
    return "Really at fault" in text or "Cause," in text


def check_lesson(page):
    drawn = page.evaluate("document.querySelector('iframe').contentDocument?.querySelectorAll('canvas').length ?? 1")
    if not drawn:
        yield "shows no timeline"


def check_index(page):
    rows = "[...document.querySelectorAll('#lessons tr:not(.skill)')]"
    first = page.evaluate(f"{rows}[0].querySelector('a').textContent")
    page.type("#search", first)
    if (shown := page.evaluate(f"{rows}.filter((one) => !one.hidden).length")) != 1:
        yield f"finds {shown} lessons in a search for {first}"
    page.type("#search", "")
    skill = page.evaluate("document.querySelector('#skill option:last-child').value")
    page.type("#skill", skill)
    if page.evaluate(f"{rows}.filter((one) => !one.hidden).map((one) => one.dataset.skill).join()") != skill:
        yield f"filters wrongly by the skill {skill}"


def check_paper(page, pages_most):
    for what in cut_off(page):
        yield f"cuts off {what}"
    if (count := pages_printed(page)) > pages_most:
        yield f"takes {count} pages"


def kind_of(path):
    parts = path.name.split(".")
    return path.stem if path.stem in ("index", "quiz") else parts[-2] if len(parts) > 2 else "lesson"


def check(page, path):
    kind, told = kind_of(path), is_told(page)
    if path.parent.name == "students" and told:
        yield "gives an answer away"
    if path.parent.name == "teacher" and kind in ("answers", "quiz") and not told:
        yield "lacks its answer"
    if kind in ("sheet", "answers"):
        yield from check_paper(page, 8)
    if kind == "quiz":
        yield from check_paper(page, 8 * max(1, page.evaluate("document.querySelectorAll('h2').length")))
    if kind == "lesson":
        yield from check_lesson(page)
    if kind == "index" and path.parent.name == "students":
        yield from check_index(page)
    if kind in ("run", "replay") and not page.evaluate("document.querySelectorAll('canvas').length"):
        yield "draws nothing"
    if kind not in ("run", "replay"):
        for link in dead_links(page, path.parent):
            yield f"leads to {link}, which is not there"


def main(directory):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    complaints, counts = [], dict.fromkeys(("lesson", "sheet", "run", "answers", "replay"), 0)
    quizzes = 0
    with browser.Browser(1000, 1200) as page:
        for path in sorted(pathlib.Path(directory).glob("*/*.html")):
            page.open(str(path))
            complaints += [f"{path.parent.name}/{path.name} {what}" for what in check(page, path)]
            kind = kind_of(path)
            quizzes += kind == "quiz"
            if kind in counts:
                counts[kind] += 1
        complaints += [f"a page complained: {error}" for error in page.errors]
    if counts["lesson"] == 0 or len(set(counts.values())) != 1 or quizzes != 2:
        complaints.append(f"counted {counts} and {quizzes} pages of a quiz")
    print("\n".join(complaints) or f"{counts['lesson']} lessons and a quiz, and all is well")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
