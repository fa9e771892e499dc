// scenarios/model/python_program.cpp — Names are found by their spelling, since only Python can read Python.
// A patch is applied by its lines, as `git apply` does, so that a reader need not count lines.
#include "scenarios/model/python_program.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

namespace deadrank::scenarios {

namespace {

using Lines = std::vector<std::string_view>;

Lines split_lines(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

bool is_word(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_';
}

// The first argument, if it is a text, of each call of `function`.
void add_first_arguments(std::string_view program, std::string_view function,
                         std::vector<std::string>& names) {
    for (std::size_t at = program.find(function); at != std::string_view::npos;
         at = program.find(function, at + 1)) {
        if (at > 0 && is_word(program[at - 1])) continue;
        std::string_view rest = program.substr(at + function.size());
        if (rest.size() < 3 || rest[0] != '(' || (rest[1] != '"' && rest[1] != '\'')) continue;
        const std::size_t end = rest.find(rest[1], 2);
        if (end == std::string_view::npos) continue;
        std::string name(rest.substr(2, end - 2));
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
}

struct Hunk {
    std::int64_t place = 0;      // line of the patch in which it begins
    std::int64_t first = 0;      // line of the program, from 1; 0: not stated
    Lines old_lines, new_lines;  // both with the lines that stay
};

// "@@ -12,5 +12,6 @@ def f():" → 12
std::int64_t stated_line(std::string_view head) {
    const std::size_t minus = head.find('-');
    if (minus == std::string_view::npos) return 0;
    std::int64_t number = 0;
    std::from_chars(head.data() + minus + 1, head.data() + head.size(), number);
    return number;
}

tl::unexpected<PatchMistake> refuse_at(std::int64_t line, std::string what, std::string remedy) {
    return tl::unexpected(PatchMistake{line, std::move(what), std::move(remedy)});
}

tl::expected<std::vector<Hunk>, PatchMistake> read_hunks(std::string_view patch) {
    std::vector<Hunk> hunks;
    std::int64_t place = 0;
    for (const std::string_view line : split_lines(patch)) {
        ++place;
        if (line.starts_with("@@")) {
            hunks.push_back({.place = place, .first = stated_line(line)});
        } else if (hunks.empty()) {
            const bool head = line.starts_with("---") || line.starts_with("+++") ||
                              line.starts_with("diff ") || line.starts_with("index ") || line.empty();
            if (!head)
                return refuse_at(place, "the patch has a line before its first hunk",
                                 "begin each hunk with a line `@@`");
        } else if (line.starts_with("\\")) {
            continue;                                 // "\ No newline at end of file"
        } else if (line.empty() || line[0] == ' ') {  // editors take the blank of an empty line away
            const std::string_view kept = line.substr(line.empty() ? 0 : 1);
            hunks.back().old_lines.push_back(kept);
            hunks.back().new_lines.push_back(kept);
        } else if (line[0] == '-') {
            hunks.back().old_lines.push_back(line.substr(1));
        } else if (line[0] == '+') {
            hunks.back().new_lines.push_back(line.substr(1));
        } else {
            return refuse_at(place, fmt::format("the patch's line '{}' is no line of a patch", line),
                             "begin it with a blank if it stays, with - if it goes, with + if it comes");
        }
    }
    if (hunks.empty()) return refuse_at(1, "the patch has no hunk", "begin each hunk with a line `@@`");
    return hunks;
}

// "+++ b/src/torch/optim/sgd.py\t2026-01-01" → "torch/optim/sgd.py"; "+++ b/train.py" → ""
std::string file_of(std::string_view head) {
    std::string_view path = head.substr(3);
    path = path.substr(std::min(path.find_first_not_of(' '), path.size()));
    path = path.substr(0, path.find_first_of("\t\r"));
    for (const std::string_view front : {"a/", "b/", "src/"})
        if (path.starts_with(front)) path.remove_prefix(front.size());
    return path.find('/') == std::string_view::npos ? std::string() : std::string(path);
}

// A file of Python below directories whose names are words.
bool names_module(std::string_view file) {
    return file.ends_with(".py") && file.find("//") == std::string_view::npos && !file.starts_with('/') &&
           std::all_of(file.begin(), file.end() - 3,
                       [](char letter) { return is_word(letter) || letter == '/'; });
}

std::vector<std::size_t> places_of(const Lines& wanted, const Lines& program, std::size_t from) {
    std::vector<std::size_t> places;
    for (std::size_t at = from; at + wanted.size() <= program.size(); ++at)
        if (std::equal(wanted.begin(), wanted.end(), program.begin() + static_cast<std::ptrdiff_t>(at)))
            places.push_back(at);
    return places;
}

}  // namespace

const Kind& python_kind() {
    static const Kind kind{
        .name = python_workload,
        .what =
            "each rank runs a program of plain Python with torch, in a real process whose process group, "
            "store and clock are simulated",
        .parameters =
            {{.name = "program",
              .type = ValueType::text,
              .what = "the fixed program: a file beside the scenario, or its text",
              .suffixes = {".py"}},
             {.name = "fix",
              .type = ValueType::text,
              .what = "a patch of installed packages that mends the bug, for a report that the installed "
                      "release still has: all runs have it but the one with the bug",
              .suffixes = {".diff", ".patch"}},
             {"gpus", ValueType::boolean, "false",
              "whether ranks have simulated GPUs: tensors of torch's cuda then compute on the CPU"}},
        .own_words = true,
        .resizes = true};
    return kind;
}

void add_program_words(std::string_view program, Kind& kind) {
    add_first_arguments(program, "seam", kind.seams);
    add_first_arguments(program, "block", kind.blocks);
}

tl::expected<std::string, PatchMistake> apply_patch(std::string_view program, std::string_view patch,
                                                    std::string_view name) {
    const auto hunks = read_hunks(patch);
    if (!hunks) return tl::unexpected(hunks.error());
    const Lines old_program = split_lines(program);
    Lines made;
    std::size_t next = 0;  // first line of the program that no hunk has passed
    for (const Hunk& hunk : *hunks) {
        if (hunk.old_lines.empty())
            return refuse_at(hunk.place, "the patch's hunk names no line of the program",
                             "put a line that stays before or behind what it adds");
        if (hunk.old_lines == hunk.new_lines)
            return refuse_at(hunk.place, "the patch's hunk changes nothing",
                             "begin a line with + or -, or leave the hunk out");
        const auto places = places_of(hunk.old_lines, old_program, next);
        if (places.empty())
            return refuse_at(hunk.place,
                             fmt::format("the patch does not apply: {} has no such lines ('{}' first)", name,
                                         hunk.old_lines.front()),
                             fmt::format("copy the lines that stay from {}, blanks included", name));
        if (places.size() > 1 && hunk.first == 0)
            return refuse_at(hunk.place,
                             fmt::format("the patch's hunk fits in {} places of {}", places.size(), name),
                             "add a line that stays and is there once");
        const auto distance = [&](std::size_t at) {
            return std::abs(static_cast<std::int64_t>(at) + 1 - hunk.first);
        };
        const std::size_t place =
            *std::min_element(places.begin(), places.end(),
                              [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
        for (; next < place; ++next) made.push_back(old_program[next]);
        made.insert(made.end(), hunk.new_lines.begin(), hunk.new_lines.end());
        next += hunk.old_lines.size();
    }
    for (; next < old_program.size(); ++next) made.push_back(old_program[next]);
    std::string text;
    for (const std::string_view line : made) {
        text += line;
        text += '\n';
    }
    return text;
}

std::string reverse_patch(std::string_view patch) {
    std::string turned;
    for (const std::string_view line : split_lines(patch)) {
        const bool head = line.starts_with("--- ") || line.starts_with("+++ ");
        if (!head && line.starts_with('-'))
            turned += '+';
        else if (!head && line.starts_with('+'))
            turned += '-';
        else
            turned += line.substr(0, 1);
        turned += line.substr(std::min<std::size_t>(1, line.size()));
        turned += '\n';
    }
    return turned;
}

tl::expected<std::vector<FilePatch>, PatchMistake> split_patch(std::string_view patch) {
    std::vector<FilePatch> parts{{.text = patch}};
    std::vector<std::size_t> begins{0};
    const Lines lines = split_lines(patch);
    const auto offset_of = [&](std::size_t i) {
        return static_cast<std::size_t>(lines[i].data() - patch.data());
    };
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        // A line that goes may begin with "-- ", one that comes with "++ ": a head has both, one behind the
        // other, or names its file right above a hunk.
        const bool whole = lines[i].starts_with("--- ") && lines[i + 1].starts_with("+++ ");
        const bool new_name_alone = lines[i].starts_with("+++ ") && lines[i + 1].starts_with("@@") &&
                                    lines[i].ends_with(".py") &&
                                    (i == 0 || !lines[i - 1].starts_with("--- "));
        if (!whole && !new_name_alone) continue;
        // git's own lines stand in front of it.
        std::size_t first = i;
        while (first > 0 && (lines[first - 1].starts_with("diff ") || lines[first - 1].starts_with("index ")))
            --first;
        const std::string file = file_of(lines[whole ? i + 1 : i]);
        if (patch.substr(0, offset_of(first)).find("@@") != std::string_view::npos) {
            parts.push_back({});
            begins.push_back(offset_of(first));
        }
        parts.back().file = file;
        parts.back().first = static_cast<std::int64_t>(first) + 1;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i].text = patch.substr(
            begins[i], i + 1 < begins.size() ? begins[i + 1] - begins[i] : std::string_view::npos);
    for (const FilePatch& part : parts) {
        const bool again = std::count_if(parts.begin(), parts.end(),
                                         [&](const FilePatch& one) { return one.file == part.file; }) > 1;
        if (again)
            return refuse_at(
                part.first,
                fmt::format("the patch changes {} twice", part.file.empty() ? "the program" : part.file),
                "put its hunks below one head");
        if (const auto hunks = read_hunks(part.text); !hunks)
            return refuse_at(part.first + hunks.error().line - 1, hunks.error().what, hunks.error().remedy);
        if (!part.file.empty() && !names_module(part.file))
            return refuse_at(
                part.first,
                fmt::format("the patch changes '{}', which is no file of a Python package", part.file),
                "name it as `+++ b/torch/optim/sgd.py`");
    }
    return parts;
}

}  // namespace deadrank::scenarios
