// tests/support/tidy/habits.cpp — What must not stand in code, with what to write instead; and how a file is
// made.
#include <algorithm>
#include <string>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

struct Banned {
    std::string_view word;
    std::string_view instead;
};

std::size_t line_at(std::string_view text, std::size_t at) {
    return 1 + static_cast<std::size_t>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

void find_banned(const SourceFile& file, std::string_view text, const std::vector<Banned>& table,
                 Complaints& complaints) {
    // A clock's time_point is only a type: Boost.Fiber's interface names it where no clock is read.
    constexpr std::string_view only_a_type = "::time_point";
    for (const Banned& banned : table) {
        for (std::size_t at = find_word(text, banned.word); at != std::string_view::npos;
             at = find_word(text, banned.word, at + 1)) {
            if (text.substr(at + banned.word.size()).starts_with(only_a_type)) continue;
            complaints.push_back({file.path + ":" + std::to_string(line_at(text, at)),
                                  "`" + std::string(banned.word) + "`: " + std::string(banned.instead)});
        }
    }
}

// Not found as whole words, since what is banned is the ending or the beginning of a name.
void find_part(const SourceFile& file, std::string_view text, const Banned& banned, Complaints& complaints) {
    for (std::size_t at = text.find(banned.word); at != std::string_view::npos;
         at = text.find(banned.word, at + 1)) {
        complaints.push_back({file.path + ":" + std::to_string(line_at(text, at)),
                              "`" + std::string(banned.word) + "`: " + std::string(banned.instead)});
    }
}

// Is the name at `at` the C library's? Members follow a dot or an arrow, declarations a type.
bool is_free_call(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, at);
    if (before.ends_with("std::") || before.ends_with(" ::")) return true;
    const std::size_t last = before.find_last_not_of(" \t\n");
    return last == std::string_view::npos ||
           std::string_view(";{})").find(before[last]) != std::string_view::npos;
}

const std::vector<Banned>& banned_where_one_seed_is_one_run() {
    static const std::vector<Banned> table = {
        {"steady_clock", "time is virtual here: ask the World's Clock"},
        {"system_clock", "time is virtual here: ask the World's Clock"},
        {"high_resolution_clock", "time is virtual here: ask the World's Clock"},
        {"clock_gettime", "time is virtual here: ask the World's Clock"},
        {"gettimeofday", "time is virtual here: ask the World's Clock"},
        {"this_thread::sleep_for", "wait in virtual time, by the World's Timer"},
        {"this_thread::sleep_until", "wait in virtual time, by the World's Timer"},
        {"this_fiber::sleep_for", "Boost's waits are in real time: wait by the World's Timer"},
        {"this_fiber::sleep_until", "Boost's waits are in real time: wait by the World's Timer"},
        {"rand", "draw from sim/engine/rng.h: value = f(seed, entity, purpose, n)"},
        {"srand", "draw from sim/engine/rng.h: value = f(seed, entity, purpose, n)"},
        {"random_device", "draw from sim/engine/rng.h: value = f(seed, entity, purpose, n)"},
        {"mt19937", "draw from sim/engine/rng.h: value = f(seed, entity, purpose, n)"},
        {"mt19937_64", "draw from sim/engine/rng.h: value = f(seed, entity, purpose, n)"},
        {"unordered_map", "its order differs between libraries: use std::map or a sorted vector"},
        {"unordered_set", "its order differs between libraries: use std::set or a sorted vector"},
        {"unordered_multimap", "its order differs between libraries: use std::multimap"},
        {"fibers::condition_variable", "ranks wait on the engine alone"},
        {"fibers::barrier", "ranks wait on the engine alone"},
    };
    return table;
}

}  // namespace

Complaints check_determinism(const SourceFile& file) {
    Complaints complaints;
    const bool watched = file.path.starts_with("sim/") || file.path.starts_with("scenarios/");
    // A managed rank is a process of this machine: its proxy bounds how long it waits for it in real time.
    if (!watched || file.path.starts_with("sim/managed/") || !is_cpp(file.path)) return complaints;
    const std::string text = without_comments_and_literals(file.text);
    find_banned(file, text, banned_where_one_seed_is_one_run(), complaints);
    find_part(file, text, {"_distribution", "libraries draw differently: use Rng::below"}, complaints);
    return complaints;
}

Complaints check_habits(const SourceFile& file) {
    Complaints complaints;
    if (!is_code(file.path) && !file.path.ends_with(".toml") && !file.path.ends_with(".md"))
        return complaints;
    // Spelled in two halves, since this file is read too.
    static const std::vector<Banned> leftovers = {{"FIX"
                                                   "ME",
                                                   "do it, or say in a sentence why it stays"},
                                                  {"TO"
                                                   "DO",
                                                   "do it, or say in a sentence why it stays"},
                                                  {"X"
                                                   "XX",
                                                   "do it, or say in a sentence why it stays"}};
    find_banned(file, file.text, leftovers, complaints);
    if (!is_cpp(file.path)) return complaints;
    const std::string text = without_comments_and_literals(file.text);
    if (!file.path.ends_with("main.cpp") && !file.path.starts_with("tests/")) {
        constexpr std::string_view instead = "only main ends the program: return an Error, or CHECK";
        for (std::size_t at = find_word(text, "exit("); at != std::string::npos;
             at = find_word(text, "exit(", at + 1)) {
            if (!is_free_call(text, at)) continue;
            complaints.push_back(
                {file.path + ":" + std::to_string(line_at(text, at)), "`exit(`: " + std::string(instead)});
        }
        find_banned(file, text, {{"quick_exit", instead}}, complaints);
    }
    if (file.path.ends_with(".h")) {
        // The builders of hand-made evidence speak for their tests alone, which read like prose for it.
        if (!file.path.starts_with("tests/results/")) {
            find_banned(file, text,
                        {{"using namespace", "name what you use; a header speaks for its includers"}},
                        complaints);
        }
        if (file.text.find("#pragma once") == std::string::npos) {
            complaints.push_back({file.path, "has no #pragma once"});
        }
    }
    return complaints;
}

// What a file or a machine names reaches a terminal through one function. Programs that are a rank, and
// libraries within one, write for deadrank; a failed check ends the process.
Complaints check_output(const SourceFile& file) {
    Complaints complaints;
    constexpr std::string_view free[] = {"results/reports/output.cpp",
                                         "scenarios/model/error.cpp",
                                         "runners/backends/ranks/",
                                         "runners/backends/gpu_rank/",
                                         "runners/backends/mpi_rank/",
                                         "sim/examples/",
                                         "runners/backends/sim/stages.cpp",
                                         "inject/",
                                         "tests/"};
    const bool may = std::any_of(std::begin(free), std::end(free),
                                 [&](std::string_view place) { return file.path.starts_with(place); });
    if (!is_cpp(file.path) || may) return complaints;
    constexpr std::string_view instead = "print_out and print_error of results/reports/output.h write";
    const std::string text = without_comments_and_literals(file.text);
    find_banned(file, text,
                {{"printf", instead},
                 {"fprintf", instead},
                 {"vfprintf", instead},
                 {"puts", instead},
                 {"fputs", instead},
                 {"putchar", instead},
                 {"fwrite", instead},
                 {"perror", instead},
                 {"fmt::print", instead},
                 {"std::cout", instead},
                 {"std::cerr", instead},
                 {"std::clog", instead}},
                complaints);
    return complaints;
}

// A reader that takes all that is thrown for the file's fault takes this machine's for it, too.
Complaints check_host_failures(const SourceFile& file) {
    Complaints complaints;
    if (!is_cpp(file.path) || !file.path.starts_with("results/")) return complaints;
    const std::string text = without_comments_and_literals(file.text);
    constexpr std::string_view all = "catch (const std::exception&";
    for (std::size_t at = text.find(all); at != text.npos; at = text.find(all, at + 1)) {
        const std::string_view body = std::string_view(text).substr(text.find('{', at) + 1, 60);
        if (body.find("is_host_failure(") == body.npos)
            complaints.push_back({file.path + ":" + std::to_string(line_at(text, at)),
                                  "`std::exception`: let is_host_failure() pass first"});
    }
    return complaints;
}

// `// sim/clock.h — Virtual time: …`, after a #! line where there is one. Fixtures are as the world made
// them.
Complaints check_opening(const SourceFile& file) {
    const bool fixture = file.path.starts_with("tests/golden/") || file.path.starts_with("tests/data/") ||
                         file.path.find("/corpus/") != std::string::npos;
    if (fixture || !(is_code(file.path) || file.path.ends_with(".toml"))) return {};
    std::string_view text = file.text;
    if (text.starts_with("#!")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    const std::string_view first = text.substr(0, text.find('\n'));
    const std::string_view mark = is_cpp(file.path) ? "//" : "#";
    const std::string package =
        file.path.substr(0, file.path.rfind("/__init__.py"));  // a package is its directory
    const bool named = first.starts_with(std::string(mark) + " " + package);
    const bool goal = file.path.starts_with("tests/") && first.starts_with("// Goal: ");
    const bool title = file.path == "CMakeLists.txt" && first.starts_with("# ");
    if (named || goal || title) return {};
    return {{file.path + ":1", "does not open with `" + std::string(mark) + " " + file.path +
                                   " — …`: one line that says what it is and what is worth knowing"}};
}

Complaints check_torn_comments(const SourceFile& file) {
    if (!is_cpp(file.path) || file.path.starts_with("tests/data/")) return {};
    const auto line_from = [&](std::size_t at) {
        return std::string_view(file.text).substr(at, file.text.find('\n', at) - at);
    };
    Complaints complaints;
    std::string_view first;  // line of the comment that ends above
    for (std::size_t at = 0; at < file.text.size(); at += line_from(at).size() + 1) {
        std::string_view line = line_from(at);
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (line.starts_with("//")) {
            if (first.empty()) first = line;
            continue;
        }
        const bool heading = first.starts_with("// ── ") || first.starts_with("// clang-format");
        const bool opening = first.data() == file.text.data();
        if (line.empty() && !first.empty() && !heading && !opening)
            complaints.push_back(
                {file.path + ":" + std::to_string(line_at(file.text, at) - 1),
                 "this comment stands before an empty line: put it back to what it describes, or "
                 "begin it with `// ── ` if it is the heading of a section"});
        first = {};
    }
    return complaints;
}

namespace {

// True if the text begins with declarations alone and the brace that closes their namespace. Types of other
// folders are declared that way.
bool only_declares(std::string_view text) {
    while (text.starts_with("class ") || text.starts_with("struct ") || text.starts_with("enum class ")) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!line.ends_with(';')) return false;
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return text.starts_with('}');
}

}  // namespace

Complaints check_namespaces(const SourceFile& file) {
    if (!is_cpp(file.path) || file.path.starts_with("tests/")) return {};
    constexpr std::string_view opening = "namespace deadrank::";
    const std::string folder = file.path.substr(0, file.path.rfind('/')) + "/";
    Complaints complaints;
    for (std::size_t at = file.text.find(opening); at != std::string::npos;
         at = file.text.find(opening, at + 1)) {
        const bool opens_line = at == 0 || file.text[at - 1] == '\n';
        const std::size_t brace = file.text.find(" {\n", at);
        if (!opens_line || brace == std::string::npos) continue;
        if (only_declares(std::string_view(file.text).substr(brace + 3))) continue;
        const std::string name = file.text.substr(at + opening.size(), brace - at - opening.size());
        std::string expected;  // the same as a folder
        for (std::size_t i = 0; i < name.size(); ++i)
            expected += name.compare(i, 2, "::") == 0 ? (++i, '/') : name[i];
        if (folder.starts_with(expected + "/")) continue;
        complaints.push_back({file.path + ":" + std::to_string(line_at(file.text, at)),
                              "deadrank::" + name + " is not the namespace of its folder or of one above"});
    }
    return complaints;
}

Complaints check_machine_paths(const SourceFile& file, const std::vector<std::string>& paths) {
    Complaints complaints;
    for (const std::string& path : paths) {
        const std::size_t at = file.text.find(path);
        if (at != std::string::npos) {
            complaints.push_back(
                {file.path + ":" + std::to_string(line_at(file.text, at)),
                 "names a path of this machine, " + path + ": write it from the repository's root"});
        }
    }
    return complaints;
}

}  // namespace deadrank::tests
