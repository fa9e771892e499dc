# tests/browser/check_lessons.py — Opens what `deadrank learn --html DIR` wrote: no errors, answers closed
# until they are asked for, the run's timeline in the lesson, links that lead somewhere, a search that finds, and
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


def check_lesson(page, name):
    text = page.evaluate("document.body.innerText")
    if "Really at fault" in text or "Cause," in text:
        yield f"{name} gives its answer away"
    drawn = page.evaluate("document.querySelector('iframe').contentDocument?.querySelectorAll('canvas').length ?? 1")
    if not drawn:
        yield f"{name} shows no timeline"
    page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    if "Cause," not in page.evaluate("document.body.innerText"):
        yield f"{name} has no answer"


def check_index(page):
    rows = "[...document.querySelectorAll('#lessons tr:not(.skill)')]"
    first = page.evaluate(f"{rows}[0].querySelector('a').textContent")
    page.evaluate("{ const field = document.getElementById('search'); field.value = " + repr(first) + ";"
                  " field.dispatchEvent(new Event('input')); }")
    if (shown := page.evaluate(f"{rows}.filter((one) => !one.hidden).length")) != 1:
        yield f"a search for {first} finds {shown} lessons"


def main(directory):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    complaints, counts = [], {"lesson": 0, "sheet": 0, "answers": 0}
    directory = pathlib.Path(directory)
    with browser.Browser(1000, 1200) as page:
        for path in sorted(directory.glob("*.html")):
            page.open(str(path))
            kind = path.name.split(".")[-2] if path.name.count(".") > 1 else "lesson"
            if path.name in ("index.html", "teacher.html"):
                kind = path.stem
            if kind in counts:
                counts[kind] += 1
            if kind in ("sheet", "answers"):
                complaints += [f"{path.name} cuts off {what}" for what in cut_off(page)]
                if (count := pages_printed(page)) > 8:
                    complaints.append(f"{path.name} takes {count} pages")
            if kind == "sheet" and "Cause," in page.evaluate("document.body.innerText"):
                complaints.append(f"{path.name} gives its answer away")
            if kind == "answers" and "Cause," not in page.evaluate("document.body.innerText"):
                complaints.append(f"{path.name} lacks its answer")
            if kind == "lesson":
                complaints += check_lesson(page, path.name)
            if kind == "index":
                complaints += check_index(page)
            if kind in ("lesson", "index", "teacher"):
                complaints += [f"{path.name} leads to {link}, which is not there"
                               for link in dead_links(page, directory)]
            if kind == "run" and not page.evaluate("document.querySelectorAll('canvas').length"):
                complaints.append(f"{path.name} draws nothing")
        complaints += [f"a page complained: {error}" for error in page.errors]
    if counts["lesson"] == 0 or len(set(counts.values())) != 1:
        complaints.append(f"counted {counts}")
    print("\n".join(complaints) or f"{counts['lesson']} lessons, and all is well")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
