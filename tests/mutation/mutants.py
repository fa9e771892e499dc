#!/usr/bin/env python3
# tests/mutation/mutants.py — Writes copies of the detectors in which each threshold and each comparison can
# be changed while the program runs, so that one build holds all mutants. main.cpp turns them on one by one.
"""Usage: mutants.py SOURCE OUT FILE...

Writes a copy of each FILE (a path below SOURCE) to OUT, and OUT/mutants.inc with a line for each mutant."""
import pathlib
import re
import sys

COMPARISON = re.compile(r" (<|>|<=|>=|==|!=) ")
CONSTANT = re.compile(r"^constexpr (?:int|double|Time|Rank|std::\w+_t|std::size_t) (\w+) = ", re.M)
# A number of two or more, or a duration, that stands beside an operator: a limit without a name.
LITERAL = re.compile(r"(?<=[*/<>=] )(?<!== )(?:[2-9]|\d\d[\d']*)(?:\.\d+)?(?=[;,) ])"
                     r"|(?<![\w.-])(?:[2-9]|\d\d+)(?= \* )"
                     r"|(?<![\w.])\d+(?:ms|s|min|h)\b|std::chrono::(?:\w+)\(\d+\)")
STOPS = ("&&", "||", ",", ";", "?", " : ", "return ", " = ", " =\n", " |= ", " &= ")
MEMBER = re.compile(r"^(.*?)(?:\.|->)(\w+(?:\(\))?)$")
PLACE = re.compile(r"(?:end\(\)|nullptr|npos|nullopt)$")


def masked(text):
    """The text with comments and strings blanked, at equal length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", blank, text, flags=re.S)


def left_end(code, at):
    """Where the operand that ends before `at` begins."""
    depth, here = 0, at
    while here > 0:
        char = code[here - 1]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and any(code.endswith(stop, 0, here) for stop in STOPS):
            break
        here -= 1
    while code[here].isspace():
        here += 1
    return here


def right_end(code, at):
    """Where the operand that begins at `at` ends."""
    depth, here = 0, at
    while here < len(code):
        char = code[here]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (code.startswith(("&&", "||", " : "), here) or char in ",;?"):
            break
        here += 1
    while code[here - 1].isspace():
        here -= 1
    return here


def inside_loop_head(code, at):
    """Whether `at` is in the head of a for or while, which turned round only hangs or crashes."""
    depth = 0
    for here in range(at - 1, max(at - 400, 0), -1):
        if code[here] == ")":
            depth += 1
        elif code[here] == "(":
            if depth == 0:
                if re.search(r"\b(?:for|while) $", code[:here]):
                    return True
                continue
            depth -= 1
        elif code[here] in "{}":
            return False
    return False


def comparable(left, right):
    """A comparison of two values. Orders that sort, and places in a container, are left alone."""
    if PLACE.search(left) or PLACE.search(right) or "tie(" in left:
        return False
    ours, theirs = MEMBER.match(left), MEMBER.match(right)
    if ours and theirs and ours[2] == theirs[2]:
        return False
    text = left + right
    return text.count("<") == text.count(">") == 0 and "\n\n" not in text and "<<" not in text


class Copy:
    """One file: what is inserted where, and the mutants that this makes."""

    def __init__(self, name, text, mutants):
        self.name, self.text, self.mutants = name, text, mutants
        self.code = masked(text)
        self.inserts = []

    def line_of(self, at):
        return self.text.count("\n", 0, at) + 1

    def mutant(self, at, kind, what):
        self.mutants.append((self.name, self.line_of(at), kind, " ".join(what.split())))
        return len(self.mutants) - 1

    def wrap(self, begin, end, call, number):
        self.inserts.append((begin, 1, begin - end, f"::deadrank::mutation::{call}({number}, "))
        self.inserts.append((end, 0, begin, ")"))

    def two_of(self, at, what):
        first = self.mutant(at, "doubled", what)
        self.mutant(at, "halved", what)
        return first

    def in_constant(self, at):
        line = self.code[self.code.rfind("\n", 0, at) + 1:at]
        return re.match(r"\s*(?:(?:static |inline )?constexpr|#|static_assert|template)", line) is not None

    def constants(self):
        for match in CONSTANT.finditer(self.code):
            name, end = match[1], self.code.index(";", match.end())
            uses = [use for use in re.finditer(rf"(?<![\w.:>]){name}\b(?! =|\()", self.code[end:])
                    if not self.in_constant(end + use.start())]
            if not uses:
                continue
            number = self.two_of(match.start(), self.text[match.start():end])
            for use in uses:
                self.wrap(end + use.start(), end + use.end(), "dial", number)

    def literals(self):
        for match in LITERAL.finditer(self.code):
            begin, end = match.span()
            if not self.in_constant(begin) and not inside_loop_head(self.code, begin):
                line = self.text[self.text.rfind("\n", 0, begin) + 1:self.text.index("\n", end)]
                self.wrap(begin, end, "dial", self.two_of(begin, f"{match[0]} in {line}"))

    def comparisons(self):
        for match in COMPARISON.finditer(self.code):
            begin, end = left_end(self.code, match.start()), right_end(self.code, match.end())
            left, right = self.code[begin:match.start()], self.code[match.end():end]
            head = self.code[self.code.rfind("\n", 0, begin) + 1:match.start()]
            if not left or not right or "operator" in head or self.in_constant(match.start()):
                continue
            if COMPARISON.search(right) or not comparable(left, right) or inside_loop_head(self.code, begin):
                continue
            self.wrap(begin, end, "flip", self.mutant(match.start(), "inverted", self.text[begin:end]))

    def written(self):
        self.constants(), self.literals(), self.comparisons()
        text, last = [], 0
        for at, _, _, words in sorted(self.inserts):
            text += [self.text[last:at], words]
            last = at
        return '#include "tests/mutation/turned.h"\n' + "".join(text) + self.text[last:]


def main():
    source, out = (pathlib.Path(word) for word in sys.argv[1:3])
    mutants = []
    for name in sorted(sys.argv[3:]):
        copy = Copy(name, (source / name).read_text(), mutants)
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(copy.written())
    rows = []
    for name, line, kind, what in mutants:
        quoted = what.replace("\\", "\\\\").replace('"', '\\"')
        rows.append(f'{{"{name}", {line}, "{kind}", "{quoted}"}},\n')
    (out / "mutants.inc").write_text("".join(rows))


if __name__ == "__main__":
    main()
