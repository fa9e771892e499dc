# tests/browser/check_site.py — Goal: the site builds without a warning, its navigation has every page, and each page
# loads in a browser without an error and without being wider than the window.
"""Usage: check_site.py [SHOTS]; exit code 77 if something is missing. With SHOTS each page is pictured there."""
import http.server
import pathlib
import subprocess
import sys
import threading

from browser import Browser, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build/docs/site"
LACKING = 77
WIDTH = 1300


class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(SITE))

    def log_message(self, *_):
        pass


def main():
    if not program() or subprocess.run(["/usr/bin/python3", "-c", "import mkdocs"], capture_output=True, check=False).returncode:
        print("skipped: no Chromium or no MkDocs is installed (Debian: chromium-headless-shell, mkdocs)")
        return LACKING
    built = subprocess.run(["/usr/bin/python3", ROOT / ".ci/site.py"], check=False, text=True, capture_output=True)
    if built.returncode or built.stdout:
        print(built.stdout, built.stderr)
        return 1
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    server.handle_error = lambda *_: None  # the browser leaves a page that it still loads
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own = f"http://127.0.0.1:{server.server_port}/"
    pages = sorted(page.relative_to(SITE) for page in SITE.rglob("*.html") if page.name not in ("404.html", "search.html"))
    complaints = []
    with Browser(WIDTH, 1000) as browser:
        for page in pages:
            browser.visit(f"{own}{page}")
            browser.evaluate("new Promise(done => $(() => setTimeout(done)))")  # the theme has wrapped wide tables
            complaints += [f"{page}: {error}" for error in browser.errors if own not in error]
            browser.errors.clear()
            if browser.evaluate("document.documentElement.scrollWidth") > WIDTH:
                complaints.append(f"{page}: is wider than {WIDTH} pixels")
            if not browser.evaluate("document.querySelector('.wy-menu-vertical li.current') !== null"):
                complaints.append(f"{page}: is not in the navigation")
            if len(sys.argv) > 1:
                browser.settle()
                browser.shot(str(pathlib.Path(sys.argv[1]) / f"{str(page).replace('/', '_')}.png"))
    server.shutdown()
    print(f"{len(pages)} pages, {len(complaints)} complaints")
    print("\n".join(complaints[:50]))
    return 1 if complaints or len(pages) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
