# sim/managed/python/deadrank/patches.py — Files of installed packages that a scenario's patch has changed: their modules
# run the changed text under their own names, and tracebacks show it.
import importlib.machinery
import json
import linecache
import os

texts = {}  # path of an installed file: what runs in its place


def install(descriptor):
    """Before a package is imported. `descriptor`: open for reading, holds `texts` as JSON."""
    with os.fdopen(descriptor, encoding="utf-8") as file:
        texts.update(json.load(file))
    loader = importlib.machinery.SourceFileLoader
    plain = loader.get_code

    def get_code(self, name):
        text = texts.get(self.path)
        if text is None:
            return plain(self, name)
        linecache.cache[self.path] = (len(text), None, text.splitlines(keepends=True), self.path)
        return self.source_to_code(text.encode(), self.path)

    loader.get_code = get_code
