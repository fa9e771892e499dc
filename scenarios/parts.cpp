// scenarios/parts.cpp — Reads the parts; every id is held against the taxonomy and the vocabulary.
#include "scenarios/parts.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

void check_word(const toml::node* node, std::string_view what, const std::string& word,
                const std::vector<std::string>& known, Problems& problems) {
    if (!node || std::find(known.begin(), known.end(), word) != known.end()) return;
    const std::string near = nearest(word, known);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    problems.add(*node, fmt::format("unknown {} '{}'", what, word),
                 !near.empty()        ? fmt::format("did you mean '{}'?", near)
                 : known.size() <= 40 ? "known are " + list
                                      : "see `deadrank list`");
}

std::vector<std::string> names_of(const std::vector<Kind>& kinds) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds) names.push_back(kind.name);
    return names;
}

void check_required(const toml::node& at, const Settings& settings, const Kind& kind, Problems& problems) {
    for (const Parameter& parameter : kind.parameters) {
        if (parameter.fallback.empty() && !parameter.optional && parameter.type != ValueType::boolean &&
            !settings.count(parameter.name)) {
            problems.add(at, fmt::format("'{}' lacks '{}'", kind.name, parameter.name), parameter.what);
        }
    }
}

// A seam or block must be one that the workload has.
void check_point(const toml::table& fault, std::string_view key, const std::vector<std::string>& known,
                 const Kind& workload, Problems& problems) {
    const toml::node* node = fault.get(key);
    if (!node || !node->is_string()) return;
    check_word(node, fmt::format("{} of {}", key, workload.name), node->as_string()->get(), known, problems);
}

}  // namespace

Bug read_bug(TomlReader& top, const Taxonomy& taxonomy, Problems& problems) {
    Bug bug;
    const toml::table* table = top.table("bug");
    if (!table) {
        if (!top.find("bug"))
            problems.add(top.raw(), "there is no [bug]", "say which stage, symptom, cause and fix it has");
        return bug;
    }
    TomlReader reader(*table, "bug", problems);
    bug.stage = reader.text("stage", true);
    bug.symptom = reader.text("symptom", true);
    bug.cause = reader.text("cause", true);
    bug.fix = reader.text("fix", true);
    bug.replays = reader.texts("replays");
    check_word(table->get("stage"), "stage", bug.stage, ids(taxonomy.stages), problems);
    check_word(table->get("symptom"), "symptom", bug.symptom, ids(taxonomy.symptoms), problems);
    check_word(table->get("cause"), "cause", bug.cause, ids(taxonomy.causes), problems);
    check_word(table->get("fix"), "fix", bug.fix, ids(taxonomy.fixes), problems);
    reader.refuse_the_rest();
    return bug;
}

const Kind* read_workload(TomlReader& top, std::string& kind, Settings& settings,
                          const Vocabulary& vocabulary, Problems& problems) {
    const toml::table* table = top.table("workload");
    if (!table) {
        if (!top.find("workload"))
            problems.add(top.raw(), "there is no [workload]", "say which kind of job runs");
        return nullptr;
    }
    TomlReader reader(*table, "workload", problems);
    kind = reader.text("kind", true);
    check_word(table->get("kind"), "workload", kind, names_of(vocabulary.workloads), problems);
    const Kind* words = vocabulary.workload(kind);
    if (!words) return nullptr;
    settings = read_settings(reader, words->parameters, problems);
    check_required(*table, settings, *words, problems);
    reader.refuse_the_rest();
    return words;
}

std::vector<FaultSettings> read_faults(TomlReader& top, const Vocabulary& vocabulary, const Kind* workload,
                                       Problems& problems) {
    std::vector<FaultSettings> faults;
    const toml::array* list = top.tables("fault");
    if (!list) return faults;
    for (const toml::node& item : *list) {
        const toml::table& table = *item.as_table();
        TomlReader reader(table, "fault", problems);
        FaultSettings fault;
        fault.place = problems.place(item);
        fault.kind = reader.text("kind", true);
        check_word(table.get("kind"), "fault", fault.kind, names_of(vocabulary.faults), problems);
        const Kind* words = vocabulary.fault(fault.kind);
        if (const toml::table* when = reader.table("when")) {
            TomlReader inner(*when, "when", problems);
            fault.when.values = read_settings(inner, trigger_parameters(), problems);
            inner.refuse_the_rest();
        }
        if (!words) continue;
        fault.parameters = read_settings(reader, words->parameters, problems);
        check_required(item, fault.parameters, *words, problems);
        if (workload) {
            check_point(table, "seam", workload->seams, *workload, problems);
            check_point(table, "block", workload->blocks, *workload, problems);
        }
        reader.refuse_the_rest();
        faults.push_back(std::move(fault));
    }
    return faults;
}

Expectation read_expectation(TomlReader& top, const Bug& bug, const Taxonomy& taxonomy, Problems& problems) {
    Expectation expect;
    expect.symptom = bug.symptom;
    const toml::table* table = top.table("expect");
    if (!table) {
        if (!top.find("expect")) problems.add(top.raw(), "there is no [expect]", "say what must be noticed");
        return expect;
    }
    TomlReader reader(*table, "expect", problems);
    const auto symptoms = ids(taxonomy.symptoms);
    if (const std::string symptom = reader.text("symptom"); !symptom.empty()) expect.symptom = symptom;
    check_word(table->get("symptom"), "symptom", expect.symptom, symptoms, problems);
    expect.blames = reader.texts("blames");
    for (const std::string& blame : expect.blames) {
        check_word(table->get("blames"), "blame", blame,
                   {"rank", "node", "step", "variable", "component", "collective", "shard"}, problems);
    }
    for (const std::string_view key : {"rank", "ranks"}) {
        if (const toml::node* node = reader.find(key)) {
            const Setting setting = read_setting(*node, {"rank", ValueType::ranks}, problems);
            if (!setting.options.empty()) expect.ranks = setting.options.front().list;
        }
    }
    if (reader.find("step")) expect.step = reader.integer("step", 0);
    expect.within = reader.duration("within", expect.within);
    expect.also = reader.texts("also");
    for (const std::string& symptom : reader.texts("others")) {
        if (symptom != "none") expect.also.push_back(symptom);
    }
    for (const std::string& symptom : expect.also)
        check_word(table->get("also") ? table->get("also") : table->get("others"), "symptom", symptom,
                   symptoms, problems);
    if (const std::string reaction = reader.text("reaction"); !reaction.empty()) expect.reaction = reaction;
    check_word(table->get("reaction"), "reaction", expect.reaction,
               {"any", "clear_error", "refuse_to_start", "restart", "warn_and_complete", "complete"},
               problems);
    expect.recovers_within = reader.duration("recovers_within", -1);
    expect.unseen = reader.text("unseen");
    reader.refuse_the_rest();
    return expect;
}

}  // namespace deadrank::scenarios
