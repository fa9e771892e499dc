# .ci/site.py — Lays out the tree's Markdown for MkDocs, which reads one directory, and builds the site. A page keeps its
# place in the tree, so its links hold. What a page links to and is no page (a scenario, a source) is copied beside it.
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "build/docs/pages"


def files_of_the_tree():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def linked_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        path = (page.parent / target).resolve()
        if "://" not in target and path.is_file() and path.is_relative_to(ROOT):
            yield path


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = [file for file in files_of_the_tree() if file.suffix == ".md" and not file.is_relative_to(ROOT / ".github")]
    for file in {*pages, *(linked for page in pages for linked in linked_files(page))}:
        copy = PAGES / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--quiet"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
