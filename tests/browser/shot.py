# tests/browser/shot.py — A picture of a report:
# shot.py REPORT.html OUT.png [#0.fault] [WIDTHxHEIGHT] [dark] [JS]
import sys

from browser import Browser


def main(page, out, place="", size="1440x1000", theme="light", script=""):
    width, height = map(int, size.split("x"))
    with Browser(width, height, theme == "dark") as browser:
        browser.open(page, place)
        browser.settle()
        if script:
            print(browser.evaluate(script))
            browser.settle()
        browser.shot(out)
        for error in browser.errors:
            print(error)
    return 1 if browser.errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
