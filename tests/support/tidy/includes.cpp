// tests/support/tidy/includes.cpp — Who must stay blind to what, and where other people's headers stay.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

struct Include {
    std::size_t line;
    std::string target;
    bool angled;
};

std::vector<Include> includes_of(const SourceFile& file) {
    std::vector<Include> found;
    std::size_t line = 0;
    for (std::size_t at = 0; at < file.text.size();) {
        ++line;
        const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
        std::string_view row(file.text.data() + at, end - at);
        at = end + 1;
        row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
        if (!row.starts_with("#include")) continue;
        const std::size_t open = row.find_first_of("<\"");
        if (open == std::string_view::npos) continue;
        const bool angled = row[open] == '<';
        const std::size_t close = row.find(angled ? '>' : '"', open + 1);
        if (close == std::string_view::npos) continue;
        found.push_back({line, std::string(row.substr(open + 1, close - open - 1)), angled});
    }
    return found;
}

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](auto prefix) { return text.starts_with(prefix); });
}

// What a folder may not include although its row lets it use the library: who must stay blind to what.
struct Blind {
    std::string_view from;
    std::vector<std::string_view> never;
    std::string_view instead;
};

const std::vector<Blind>& blind() {
    static const std::vector<Blind> table = {
        {"results/analysis/",
         {"results/record/truth", "results/record/record.h", "scenarios/model/plan.h",
          "scenarios/model/scenario.h"},
         "a detector is blind: it reads evidence, and never plan, truth or faults"},
        {"results/detectors/",
         {"results/record/truth", "results/record/record.h", "scenarios/model/plan.h",
          "scenarios/model/scenario.h"},
         "a detector is blind: it reads evidence, and never plan, truth or faults"},
        {"results/external/",
         {"results/record/truth", "results/record/record.h", "scenarios/model/plan.h",
          "scenarios/model/scenario.h"},
         "a foreign detector is blind too: it reads evidence, and never plan, truth or faults"},
        {"results/record/evidence",
         {"results/record/truth", "scenarios/model/plan.h"},
         "evidence holds what could be observed; it knows neither plan nor truth"},
        {"results/record/truth",
         {"results/record/evidence"},
         "truth stands beside evidence and never refers to it"},
        {"sim/workloads/",
         {"results/record/evidence", "results/record/truth", "scenarios/model/plan.h"},
         "a workload sees sim/world: no fault, no evidence, no plan"},
        {"sim/",
         {"results/record/evidence", "results/record/truth", "results/record/finding.h",
          "scenarios/model/plan.h"},
         "the simulated world knows neither faults nor detectors; runners/backends/sim joins them"},
        {"inject/",
         {"results/record/evidence", "results/record/finding.h"},
         "a fault sees its levers and the plan: no world, no evidence, no detector"},
    };
    return table;
}

// A foreign header, and where it may be included. "*.cpp" after a room means: not in its headers.
struct Foreign {
    std::vector<std::string_view> headers;
    std::vector<std::string_view> rooms;
    bool headers_too;
    std::string_view instead;
};

const std::vector<Foreign>& foreigners() {
    static const std::vector<Foreign> table = {
        {{"toml++", "toml.hpp"},
         {"scenarios/", "results/exporters/"},
         false,
         "read TOML through scenarios/format; others take a Scenario"},
        {{"yaml-cpp"}, {"results/alerts/"}, false, "YAML stays where rule files are read"},
        {{"boost/fiber", "boost/context"},
         {"sim/"},
         true,
         "fibers stay in sim/; others see sim/world/world.h"},
        {{"boost/asio", "boost/beast"},
         {"runners/backends/", "runners/serve/", "inject/"},
         true,
         "sockets and processes stay in runners/backends, runners/serve and inject/"},
        {{"mpi.h"},
         {"runners/backends/mpi_rank/", "runners/campaign/mpi_bridge/", "inject/shims/mpi/"},
         true,
         "MPI stays in runners/backends/mpi_rank, runners/campaign/mpi_bridge and inject/shims/mpi"},
        {{"cuda", "nccl", "nvml", "driver_types.h"},
         {"runners/backends/gpu_rank/", "inject/standin/", "inject/shims/"},
         true,
         "CUDA and NCCL stay in runners/backends/gpu_rank, inject/standin and inject/shims"},
        {{"nlohmann/json_fwd.hpp"},
         {"results/", "runners/", "scenarios/", "inject/", "sim/managed/"},
         true,
         "use the room's own JSON"},
        {{"nlohmann/"},
         {"results/", "runners/", "inject/", "inject/standin/", "sim/managed/", "sim/workloads/recording.cpp"},
         false,
         "JSON stays in .cpp files; include json_fwd.hpp"},
        {{"CLI/"}, {"runners/"}, true, "the command line is runners/main's"},
        {{"pugixml"}, {"results/", "runners/"}, false, "XML stays in the .cpp files of reports"},
        {{"sqlite3"},
         {"results/", "runners/"},
         false,
         "the store stays in the .cpp files of results/ and runners/"},
        {{"gtest/", "gmock/", "rapidcheck", "benchmark/"},
         {"runners/suites/gtest.h"},
         true,
         "test libraries stay in tests/; runners/suites/gtest.h is for other people's"},
    };
    return table;
}

// A file's own text and all that it includes.
struct Seen {
    std::vector<std::string> includes;
    std::set<std::string> classes;                                 // declared here
    std::vector<std::pair<std::size_t, std::string>> definitions;  // line and class of `Class::member(…`
};

Seen seen_in(const SourceFile& file) {
    static const std::regex declared(R"((?:class|struct)\s+(?:\[\[\w+\]\]\s+)?([A-Z]\w*))");
    static const std::regex defined(R"(\b([A-Z]\w*)::~?\w+\()");
    Seen seen;
    for (const auto& [line, target] : own_includes(file)) seen.includes.push_back(target);
    std::istringstream lines(without_comments_and_literals(file.text));
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        for (std::sregex_iterator at(line.begin(), line.end(), declared), end; at != end; ++at)
            seen.classes.insert((*at)[1]);
        std::smatch found;
        const bool outermost = !line.empty() && line.front() != ' ';
        if (outermost && std::regex_search(line, found, defined))
            seen.definitions.emplace_back(number, found[1]);
    }
    return seen;
}

using AllSeen = std::map<std::string, Seen>;

bool sees_class(const AllSeen& all, const std::string& from, const std::string& name,
                std::set<std::string>& visited) {
    const auto file = all.find(from);
    if (file == all.end() || !visited.insert(from).second) return false;
    return file->second.classes.count(name) > 0 ||
           std::any_of(file->second.includes.begin(), file->second.includes.end(),
                       [&](const std::string& next) { return sees_class(all, next, name, visited); });
}

std::string place(const SourceFile& file, const Include& include) {
    return file.path + ":" + std::to_string(include.line);
}

}  // namespace

std::vector<std::pair<std::size_t, std::string>> own_includes(const SourceFile& file) {
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const Include& include : includes_of(file)) {
        if (!include.angled) found.emplace_back(include.line, include.target);
    }
    return found;
}

Complaints check_definitions_see_their_class(const Tree& tree) {
    AllSeen all;
    std::set<std::string> in_headers;
    for (const SourceFile& file : tree) {
        if (!is_cpp(file.path) || file.path.starts_with("tests/")) continue;
        const Seen& seen = all[file.path] = seen_in(file);
        if (file.path.ends_with(".h")) in_headers.insert(seen.classes.begin(), seen.classes.end());
    }
    Complaints complaints;
    for (const auto& [path, seen] : all) {
        for (const auto& [line, name] : seen.definitions) {
            std::set<std::string> visited;
            if (in_headers.count(name) == 0 || sees_class(all, path, name, visited)) continue;
            complaints.push_back({path + ":" + std::to_string(line),
                                  "defines a member of " + name + ": include the header that declares it"});
        }
    }
    return complaints;
}

Complaints check_blindness(const SourceFile& file) {
    Complaints complaints;
    if (!is_cpp(file.path)) return complaints;
    for (const Include& include : includes_of(file)) {
        if (include.angled) continue;
        if (include.target.starts_with("..")) {
            complaints.push_back({place(file, include), "includes " + include.target +
                                                            ": write the path from the repository's root"});
        }
        for (const Blind& one : blind()) {
            if (!file.path.starts_with(one.from) || !starts_with_any(include.target, one.never)) continue;
            complaints.push_back(
                {place(file, include), "includes " + include.target + ": " + std::string(one.instead)});
            break;
        }
    }
    return complaints;
}

Complaints check_third_party(const SourceFile& file) {
    Complaints complaints;
    if (!is_cpp(file.path) || file.path.starts_with("tests/")) return complaints;
    for (const Include& include : includes_of(file)) {
        const auto foreign = std::find_if(foreigners().begin(), foreigners().end(), [&](const Foreign& one) {
            return starts_with_any(include.target, one.headers);
        });
        if (foreign == foreigners().end()) continue;
        const bool in_room = starts_with_any(file.path, foreign->rooms);
        if (in_room && (foreign->headers_too || !file.path.ends_with(".h"))) continue;
        complaints.push_back(
            {place(file, include), "includes <" + include.target + ">: " + std::string(foreign->instead)});
    }
    return complaints;
}

}  // namespace deadrank::tests
