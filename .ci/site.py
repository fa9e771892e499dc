# .ci/site.py — Lays out the tree's Markdown for MkDocs, which reads one directory, and builds the site. A page
# keeps its place in the tree, so its links hold. Linked files that are no pages (a scenario, a source) are
# copied beside it. With --navigation it only looks whether mkdocs.yml lists every page.
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "build/docs/pages"
CONFIGURATION = ROOT / "build/docs/mkdocs.yml"
THEME = ROOT / "build/docs/theme"
JQUERY = pathlib.Path("/usr/share/javascript/jquery/jquery.min.js")
STYLE = """.wy-nav-content { max-width: 1000px }
.wy-table-responsive { overflow: auto }
.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal; min-width: 4em }
.wy-table-responsive table td { overflow-wrap: anywhere }
"""
TABLES = '$(function () { $("div.rst-content table").addClass("docutils"); });\n'


def files_of_the_tree():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def linked_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        path = (page.parent / target).resolve()
        if "://" not in target and path.is_file() and path.is_relative_to(ROOT):
            yield path


def pages_of(nav):
    for entry in nav:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else pages_of(value)


def complete_theme():
    """Two files that the theme's pages load and Debian's package mkdocs lacks, and a style for wide tables and code."""
    (THEME / "js").mkdir(parents=True, exist_ok=True)
    if JQUERY.exists():
        shutil.copyfile(JQUERY, THEME / "js/jquery-3.6.0.min.js")
    (THEME / "js/theme_extra.js").write_text(TABLES)
    (THEME / "own.css").write_text(STYLE)


def with_folders(configuration, pages):
    """The configuration of the build: absolute directories, and each folder's README.md in the navigation."""
    known = set(pages_of(configuration["nav"]))
    missing = sorted(page for page in pages if page not in known)
    if forgotten := [page for page in missing if not page.endswith("README.md")]:
        raise SystemExit(f"mkdocs.yml: the navigation has no {', '.join(forgotten)}")
    folders = [{str(pathlib.Path(page).parent): page} for page in missing]
    return configuration | {
        "nav": [*configuration["nav"], {"The source, by folder": folders}],
        "theme": configuration["theme"] | {"custom_dir": str(THEME)},
        "extra_css": ["own.css"],
        "docs_dir": str(PAGES),
        "site_dir": str(ROOT / configuration["site_dir"]),
    }


def main():
    forms = ROOT / ".github"
    pages = [file for file in files_of_the_tree() if file.suffix == ".md" and not file.is_relative_to(forms)]
    names = [file.relative_to(ROOT).as_posix() for file in pages]
    configuration = with_folders(yaml.safe_load((ROOT / "mkdocs.yml").read_text()), names)
    if sys.argv[1:] == ["--navigation"]:
        return 0
    shutil.rmtree(PAGES, ignore_errors=True)
    for file in {*pages, *(linked for page in pages for linked in linked_files(page))}:
        copy = PAGES / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    complete_theme()
    CONFIGURATION.write_text(yaml.safe_dump(configuration, sort_keys=False))
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", CONFIGURATION]
    done = subprocess.run(build, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lost = "not included in the \"nav\"" in done.stdout
    if done.returncode or lost:
        print(done.stdout)
    return done.returncode or int(lost)


if __name__ == "__main__":
    sys.exit(main())
