# tests/browser/check_lessons.py — Opens what `deadrank learn --html DIR` wrote: no errors, answers closed
# until they are asked for, and each handout on one sheet of A4. Exit codes as check_report.py.
import base64
import pathlib
import re
import sys

import browser


def sheets(page):
    printed = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))


def main(directory):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    complaints, lessons, handouts = [], 0, 0
    with browser.Browser(1000, 1200) as page:
        for path in sorted(pathlib.Path(directory).glob("*.html")):
            page.open(str(path))
            text = page.evaluate("document.body.innerText")
            if path.name.endswith(".handout.html"):
                handouts += 1
                if (count := sheets(page)) != 1:
                    complaints.append(f"{path.name} takes {count} sheets")
                if "What it was" not in text:
                    complaints.append(f"{path.name} lacks its answer")
            elif path.name == "index.html":
                broken = page.evaluate("[...document.links].map((one) => one.getAttribute('href'))")
                complaints += [f"index.html leads to {link}, which is not there" for link in broken
                               if not (path.parent / link).exists()]
            else:
                lessons += 1
                if "Really at fault" in text or "Cause," in text:
                    complaints.append(f"{path.name} gives its answer away")
                page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
                if "Cause," not in page.evaluate("document.body.innerText"):
                    complaints.append(f"{path.name} has no answer")
        complaints += [f"a page complained: {error}" for error in page.errors]
    if lessons == 0 or lessons != handouts:
        complaints.append(f"{lessons} lessons and {handouts} handouts")
    print("\n".join(complaints) or f"{lessons} lessons, and all is well")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
