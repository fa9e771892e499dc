// scenarios/load.cpp — One scenario file into one Scenario; whatever nobody reads is refused with its place.
#include <algorithm>
#include <fmt/format.h>
#include <xxhash.h>

#include "scenarios/parts.h"

namespace deadrank::scenarios {

namespace {

// "path/catalog/communication/rank_leaves.toml" → "communication/rank_leaves".
std::string id_of(const std::filesystem::path& file) {
    return (file.parent_path().filename() / file.stem()).generic_string();
}

// The comment that opens the file, without its first line if that only names the file.
std::string story_of(std::string_view text) {
    std::string story;
    while (!text.empty() && text.front() == '#') {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(1, end - 1);
        while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
        const bool names_file =
            line.size() > 5 && line.substr(line.size() - 5) == ".toml" && line.find(' ') == line.npos;
        if (!names_file) story += (story.empty() ? "" : " ") + std::string(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return story;
}

Heal read_heal(TomlReader& top, const Kind* workload, Problems& problems) {
    Heal heal;
    const toml::table* table = top.table("heal");
    if (!table) return heal;
    TomlReader reader(*table, "heal", problems);
    if (const std::string fault = reader.text("fault"); !fault.empty()) heal.fault = fault;
    if (heal.fault != "none" && heal.fault != "keep") {
        problems.add(*table->get("fault"), fmt::format("heal.fault cannot be '{}'", heal.fault),
                     "write \"none\" or \"keep\"");
    }
    heal.says = reader.text("says");
    if (const toml::table* cluster = reader.table("cluster")) {
        TomlReader inner(*cluster, "heal.cluster", problems);
        heal.cluster = read_settings(inner, cluster_parameters(), problems);
        inner.refuse_the_rest();
    }
    if (const toml::table* settings = reader.table("workload"); settings && workload) {
        TomlReader inner(*settings, "heal.workload", problems);
        heal.workload = read_settings(inner, workload->parameters, problems);
        inner.refuse_the_rest();
    }
    if (heal.fault == "keep" && heal.cluster.empty() && heal.workload.empty()) {
        problems.add(*table, "the healed run would be the faulty one again",
                     "change something in [heal.cluster] or [heal.workload]");
    }
    reader.refuse_the_rest();
    return heal;
}

Teach read_teach(TomlReader& top, Problems& problems) {
    Teach teach;
    if (const toml::table* table = top.table("teach")) {
        TomlReader reader(*table, "teach", problems);
        teach.title = reader.text("title");
        teach.sees = reader.text("sees");
        teach.question = reader.text("question");
        teach.hints = reader.texts("hints");
        teach.answer = reader.text("answer");
        teach.why = reader.text("why");
        reader.refuse_the_rest();
    }
    return teach;
}

void read_all(Scenario& scenario, const toml::table& file, const Taxonomy& taxonomy,
              const Vocabulary& vocabulary, Problems& problems) {
    TomlReader top(file, "scenario", problems);
    if (top.integer("format", 0) != 1)
        problems.add(file, "the format is not stated", "begin the file with format = 1");
    scenario.bug = read_bug(top, taxonomy, problems);
    if (const toml::table* cluster = top.table("cluster")) {
        TomlReader reader(*cluster, "cluster", problems);
        scenario.cluster = read_settings(reader, cluster_parameters(), problems);
        reader.refuse_the_rest();
    }
    const Kind* workload =
        read_workload(top, scenario.workload_kind, scenario.workload, vocabulary, problems);
    scenario.faults = read_faults(top, vocabulary, workload, problems);
    scenario.expect = read_expectation(top, scenario.bug, taxonomy, problems);
    scenario.heal = read_heal(top, workload, problems);
    scenario.teach = read_teach(top, problems);
    if (const toml::table* parity = top.table("parity")) {
        for (const auto& [backend, reason] : *parity) {
            if (const auto* text = reason.as_string())
                scenario.parity.emplace(backend.str(), text->get());
            else
                problems.add(reason,
                             fmt::format("parity.{} is {}, not a sentence", backend.str(), kind_of(reason)));
        }
    }
    scenario.backends = top.texts("backends");
    for (const std::string& backend : scenario.backends) {
        const std::vector<std::string> known = {"sim", "local", "mpi", "gpu", "nccl"};
        if (std::find(known.begin(), known.end(), backend) == known.end()) {
            problems.add(*file.get("backends"), fmt::format("no backend is called '{}'", backend),
                         "known are sim, local, mpi, gpu, nccl");
        }
    }
    top.refuse_the_rest();
}

}  // namespace

Result<Scenario> load(const std::filesystem::path& file, const Taxonomy& taxonomy,
                      const Vocabulary& vocabulary) {
    const auto text = read_text(file.string());
    if (!text) return tl::unexpected(text.error());
    const auto table = parse_toml(*text, file.string());
    if (!table) return tl::unexpected(table.error());
    Scenario scenario;
    scenario.id = id_of(file);
    scenario.file = file;
    scenario.digest = fmt::format("{:016x}", XXH3_64bits(text->data(), text->size()));
    scenario.story = story_of(*text);
    Problems problems(file.string());
    read_all(scenario, *table, taxonomy, vocabulary, problems);
    if (!problems.empty()) return tl::unexpected(problems.first());
    return scenario;
}

}  // namespace deadrank::scenarios
