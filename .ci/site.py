# .ci/site.py — Lays out the tree's Markdown for MkDocs, which reads one directory, and builds the site. A page
# keeps its place in the tree, so its links hold. Linked files that are no pages (a scenario, a source) are
# copied beside it.
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "build/docs/pages"


def files_of_the_tree():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def linked_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        path = (page.parent / target).resolve()
        if "://" not in target and path.is_file() and path.is_relative_to(ROOT):
            yield path


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    forms = ROOT / ".github"
    pages = [file for file in files_of_the_tree() if file.suffix == ".md" and not file.is_relative_to(forms)]
    for file in {*pages, *(linked for page in pages for linked in linked_files(page))}:
        copy = PAGES / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--quiet"]
    return subprocess.run(build, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
