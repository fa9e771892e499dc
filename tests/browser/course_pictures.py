# tests/browser/course_pictures.py — The pictures of docs/course: the timeline of each lesson's run.
#   deadrank learn --course --html DIR && course_pictures.py DIR [--draw]
# Without --draw: are they of the runs that the lessons have today? A picture keeps a digest of what it shows: ranks, kinds
# of slices and their order. Pixels depend on fonts, and are not compared. Exit codes as check_report.py.
import hashlib
import pathlib
import struct
import sys
import zlib

import browser

PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs/course/pictures"
HEAD = b"\x89PNG\r\n\x1a\n"
KEY = b"deadrank\0"
SHOWN = """(() => { const { kinds, ranks, shapes } = data.cases[0].runs[0].rows;
  return JSON.stringify([data.cases[0].runs[0].world, kinds, ranks, shapes]) })()"""


def chunks_of(png):
    at = len(HEAD)
    while at < len(png):
        (size,) = struct.unpack(">I", png[at:at + 4])
        yield png[at + 4:at + 8], png[at + 8:at + 8 + size]
        at += 12 + size


def digest_in(png):
    kept = (body[len(KEY):] for kind, body in chunks_of(png) if kind == b"tEXt" and body.startswith(KEY))
    return next(kept, b"").decode()


def with_digest(png, digest):
    """Before the last chunk, IEND, which has 12 bytes."""
    body = b"tEXt" + KEY + digest.encode()
    return png[:-12] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + png[-12:]


def main(directory, *options):
    if not browser.program():
        print("no Chromium is installed (Debian: chromium-headless-shell)")
        return 77
    students, complaints = pathlib.Path(directory) / "students", []
    with browser.Browser(960, 1200) as page:
        page.open(str(students / "index.html"))
        lessons = page.evaluate("[...document.querySelectorAll('#lessons input')].map((one) => one.value)")
        for number, lesson in enumerate(lessons, 1):
            page.open(str(students / f"{lesson}.run.html"))
            page.settle()
            digest = hashlib.sha256(page.evaluate(SHOWN).encode()).hexdigest()[:16]
            picture = PICTURES / f"{number}.png"
            if "--draw" in options:
                page.shot(str(picture), of=".timeline")
                picture.write_bytes(with_digest(picture.read_bytes(), digest))
            elif not picture.exists() or digest_in(picture.read_bytes()) != digest:
                complaints.append(f"{picture.name} is no picture of {lesson} as it runs today: draw it again with --draw")
        complaints += page.errors
    if len(lessons) != len(list(PICTURES.glob("*.png"))):
        complaints.append(f"{len(lessons)} lessons, and other pictures than these")
    print("\n".join(complaints) or f"{len(lessons)} pictures, and all are of today's runs")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
