// tests/support/tidy/includes.cpp — The include arrows as two tables: our rooms, and other people's headers.
#include <algorithm>
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

// From the first rule whose prefix fits the file: what of ours it may include.
struct Arrow {
    std::string_view from;
    std::vector<std::string_view> may;
    std::string_view instead;
};

const std::vector<Arrow>& arrows() {
    static const std::vector<Arrow> table = {
        {"scenarios/",
         {"scenarios/"},
         "scenarios knows nothing else of ours; take what you need as an argument"},
        {"results/detectors/",
         {"results/detectors/", "results/detectors/detect.h", "results/detectors/detector.h",
          "results/text/words.h", "results/record/evidence.h", "results/record/event.h",
          "results/record/codes.h", "results/record/signals.h", "results/record", "results/record/blame.h",
          "results/record/time.h", "scenarios/model/taxonomy.h", "scenarios/model/error.h",
          "scenarios/model/text.h"},
         "a detector is blind: it reads results/record/evidence.h, and never plan, truth or faults"},
        {"results/external/",
         {"results/external/", "results/detectors/", "results/detectors/detector.h",
          "results/record/evidence.h", "results/record/event.h", "results/record/codes.h", "results/record",
          "results/record/blame.h", "results/record/blame_json.h", "results/record/time.h",
          "results/text/words.h", "results/emitters/", "scenarios/model/taxonomy.h",
          "scenarios/model/error.h", "scenarios/model/error.h"},
         "a foreign detector is blind too: it reads results/record/evidence.h, and never plan, truth or "
         "faults"},
        {"results/record",
         {"results/record", "results/record/codes.h", "results/record/time.h"},
         "payloads are plain data: results/record/codes.h and results/record/time.h are all they need"},
        {"results/event",
         {"results/record", "results/record/codes.h", "results/record/time.h", "scenarios/model/error.h",
          "scenarios/model/error.h"},
         "events are plain data: let whoever needs more include them"},
        {"results/evidence",
         {"results/evidence", "results/event", "results/record", "results/record/codes.h",
          "results/record/time.h", "scenarios/model/error.h", "scenarios/model/error.h"},
         "evidence holds what could be observed; it knows neither plan nor truth"},
        {"results/truth",
         {"results/truth", "results/record/blame.h", "results/record/blame_json.h", "results/record/codes.h",
          "results/record/time.h", "scenarios/model/error.h", "scenarios/model/error.h"},
         "truth stands beside evidence and never refers to it"},
        {"results/", {"results/", "scenarios/"}, "results includes scenarios/ and results/ alone"},
        {"sim/workloads/",
         {"sim/workloads/", "sim/", "results/record/event.h", "results/record/codes.h",
          "results/record/time.h", "results/record", "scenarios/model/error.h", "scenarios/model/error.h",
          "scenarios/model/value.h", "scenarios/model/vocabulary.h"},
         "a workload sees sim/world/world.h: no fault, no evidence, no plan"},
        {"sim/",
         {"sim/", "results/record/event.h", "results/record/codes.h", "results/record/signals.h",
          "results/record/time.h", "results/record", "scenarios/model/error.h", "scenarios/model/chance.h",
          "scenarios/model/error.h", "scenarios/model/value.h"},
         "the simulated world knows neither faults nor detectors; runners/backends/sim joins them"},
        {"inject/",
         {"inject/", "scenarios/", "results/record/event.h", "results/record/codes.h",
          "results/record/time.h", "results/record/blame.h", "results/record", "results/record/truth.h"},
         "a fault sees inject/core/levers.h and the plan: no world, no evidence, no detector"},
        {"runners/", {"runners/", "scenarios/", "results/", "sim/", "inject/"}, "include by room"},
        {"tests/", {"tests/", "runners/", "scenarios/", "results/", "sim/", "inject/"}, "include by room"},
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
         "read TOML through scenarios/load; others take a Scenario"},
        {{"yaml-cpp"}, {"results/alerts/"}, false, "YAML stays where rule files are read"},
        {{"boost/fiber", "boost/context"},
         {"sim/"},
         true,
         "fibers stay in sim/; others see sim/world/world.h"},
        {{"boost/asio", "boost/beast"},
         {"runners/backends/local/", "runners/serve/", "inject/"},
         true,
         "sockets and processes stay in runners/backends/local, runners/serve and inject/"},
        {{"mpi.h"},
         {"runners/backends/mpi/", "inject/shims/mpi/"},
         true,
         "MPI stays in runners/backends/mpi and inject/shims/mpi"},
        {{"cuda", "nccl", "nvml", "driver_types.h"},
         {"runners/backends/gpu/", "inject/standin/", "inject/shims/"},
         true,
         "CUDA and NCCL stay in runners/backends/gpu, inject/standin and inject/shims"},
        {{"nlohmann/json_fwd.hpp"},
         {"results/", "runners/", "scenarios/", "inject/"},
         true,
         "use the room's own JSON"},
        {{"nlohmann/"},
         {"results/", "runners/", "inject/", "inject/standin/"},
         false,
         "JSON stays in .cpp files; include json_fwd.hpp"},
        {{"CLI/"}, {"runners/"}, true, "the command line is runners/main's"},
        {{"spdlog/"}, {"runners/"}, true, "only runners log; return an Error, or record an event"},
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

std::string place(const SourceFile& file, const Include& include) {
    return file.path + ":" + std::to_string(include.line);
}

}  // namespace

Complaints check_include_arrows(const SourceFile& file) {
    Complaints complaints;
    if (!is_cpp(file.path)) return complaints;
    const auto arrow = std::find_if(arrows().begin(), arrows().end(),
                                    [&](const Arrow& one) { return file.path.starts_with(one.from); });
    if (arrow == arrows().end()) return complaints;
    for (const Include& include : includes_of(file)) {
        if (include.angled || include.target.find('/') == std::string::npos) continue;
        if (starts_with_any(include.target,
                            {"scenarios/", "results/", "sim/", "inject/", "runners/", "tests/"})) {
            if (!starts_with_any(include.target, arrow->may)) {
                complaints.push_back(
                    {place(file, include),
                     "includes " + include.target + ", against the arrows: " + std::string(arrow->instead)});
            }
        } else if (include.target.starts_with("..")) {
            complaints.push_back({place(file, include), "includes " + include.target +
                                                            ": write the path from the repository's root"});
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
