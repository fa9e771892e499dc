// scenarios/format/release_table.cpp — The words of [release] become settings of the workload and one fault:
// the ranks get the release that has the bug. Control and healed run get the fixed release, since they leave
// that fault out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/document.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/pattern.h"
#include "scenarios/model/release.h"

namespace deadrank::scenarios {

namespace {

Setting text_setting(std::string text, const Place& place) {
    Setting setting;
    setting.options = {Value{.type = ValueType::text, .text = std::move(text)}};
    setting.place = place;
    return setting;
}

// A word of the table that must be a version or a package.
void check_pin(Reader& reader, std::string_view key, const std::string& pin) {
    const Node* node = reader.find(key);
    if (!node) return;
    if (const auto parsed = parse_pin(pin); !parsed) reader.problems().add(node->place, parsed.error());
}

void check_pattern(Reader& reader, const std::string& pattern) {
    if (const auto read = Pattern::of_part(pattern); !read)
        reader.problems().add(reader.find("shows")->place,
                              fmt::format("'{}' is not a pattern: {}", pattern, read.error().what),
                              "an ECMAScript regular expression without \\1, in single quotes");
}

// Releases, or files of them beside the scenario: "../datasets.txt" has one per line.
std::vector<std::string> read_with(Reader& reader, const Scenario& scenario) {
    std::vector<std::string> pins;
    for (const std::string& word : reader.texts("with")) {
        if (!word.ends_with(".txt")) {
            pins.push_back(word);
            continue;
        }
        auto in = open_input(scenario.file.parent_path() / word);
        if (!in)
            reader.problems().add(reader.find("with")->place,
                                  fmt::format("the list of releases '{}' cannot be read", word),
                                  "name a file, from the scenario's directory");
        for (std::string line; in && std::getline(*in, line);) {
            if (!line.empty() && !line.starts_with("#")) pins.push_back(line);
        }
    }
    for (const std::string& pin : pins) check_pin(reader, "with", pin);
    return pins;
}

std::string program_of(Reader& reader, const Scenario& scenario) {
    const std::string name = reader.required_text("program");
    std::error_code ignored;
    const std::filesystem::path file = std::filesystem::absolute(scenario.file, ignored).parent_path() / name;
    if (!name.empty() && !std::filesystem::is_regular_file(file, ignored))
        reader.problems().add(reader.find("program")->place,
                              fmt::format("there is no program '{}' beside the scenario", name),
                              "name a file of Python in the same directory");
    return file.lexically_normal().string();
}

// Exactly one of the two says how the bug is seen to happen.
void check_seen(Reader& reader, const std::string& shows, const std::string& ends) {
    if (shows.empty() == ends.empty())
        reader.problems().add(reader.node().place, "[release] must say how the bug is seen to happen, once",
                              "add shows = 'pattern of a line', or ends = \"hang\" or \"crash\"");
    if (!shows.empty()) check_pattern(reader, shows);
}

}  // namespace

bool read_release(Reader& top, Scenario& scenario) {
    const Node* table = top.table("release");
    if (!table) return false;
    Reader reader(*table, "[release]", top.problems());
    const std::string package = reader.required_text("package");
    const std::string bug = reader.required_text("bug"), fixed = reader.required_text("fixed");
    check_pin(reader, "bug", package + "==" + bug);
    check_pin(reader, "fixed", package + "==" + fixed);
    if (!bug.empty() && bug == fixed)
        reader.problems().add(reader.find("fixed")->place, "the fixed release is the one with the bug",
                              "name the first release that no longer has it");
    const std::vector<std::string> with = read_with(reader, scenario);
    const std::string shows = reader.text("shows");
    const std::string ends = reader.find("ends") ? reader.one_of("ends", list_words<ReleaseEnd>(), "") : "";
    check_seen(reader, shows, ends);
    scenario.workload_kind = release_workload;
    const auto set = [&](const char* name, std::string text) {
        if (!text.empty()) scenario.workload[name] = text_setting(std::move(text), table->place);
    };
    set("package", package);
    set("bug", bug);
    set("fixed", fixed);
    set("with", fmt::format("{}", fmt::join(with, " ")));
    set("program", program_of(reader, scenario));
    set("shows", shows);
    set("ends", ends);
    set("twin", reader.text("twin"));
    FaultSettings fault{.kind = id_of(FaultId::skew_version), .place = table->place};
    fault.parameters["package"] = text_setting(package, table->place);
    fault.parameters["version"] = text_setting(bug, table->place);
    const Node* rank = reader.find("rank");
    if (rank) {
        fault.parameters["rank"] = read_setting(*rank, {"rank", ValueType::ranks}, top.problems());
    } else {
        Setting all;
        all.selector = "all";
        all.place = table->place;
        fault.parameters["rank"] = all;
    }
    scenario.faults.push_back(std::move(fault));
    reader.refuse_unknown_keys();
    return true;
}

}  // namespace deadrank::scenarios
