// scenarios/format/parts_fault.cpp — Reads [[fault]]: its kind, what the kind asks for, and when it acts.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/parts.h"
#include "scenarios/format/setting_reader.h"
#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

namespace {

bool has_word(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

void check_required(Reader& reader, const Settings& settings, const Kind& kind) {
    for (const Parameter& parameter : kind.parameters) {
        if (parameter.optional || !parameter.fallback.empty() || settings.count(parameter.name) > 0) continue;
        reader.problems().add(reader.node().place, fmt::format("{} lacks '{}'", kind.name, parameter.name),
                              fmt::format("add {} = … ({})", parameter.name, parameter.what));
    }
}

// `key` of a fault or trigger must name one of the words, all its options must.
void check_known_words(const Settings& settings, std::string_view key, const std::vector<std::string>& known,
                       const std::string& what, Problems& problems) {
    const auto setting = settings.find(std::string(key));
    if (setting == settings.end()) return;
    for (const Value& option : setting->second.options) {
        if (has_word(known, option.text)) continue;
        problems.add(setting->second.place, fmt::format("there is no {} '{}'", what, option.text),
                     suggestion(option.text, known));
    }
}

bool says(const Settings& when, std::string_view key) { return when.count(std::string(key)) > 0; }

void check_trigger(const Settings& when, Problems& problems) {
    const auto start = when.find("start");
    const bool at_start =
        start != when.end() && !start->second.options.empty() && start->second.options.front().number != 0;
    for (const std::string_view key : {"at", "step", "phase", "before", "comm"}) {
        if (!at_start || !says(when, key)) continue;
        problems.add(when.find(std::string(key))->second.place,
                     fmt::format("'{}' contradicts start = true", key), "keep one of them");
    }
    if (says(when, "nth") && !says(when, "before") && !says(when, "phase") && !says(when, "comm")) {
        problems.add(when.at("nth").place, "'nth' counts nothing here",
                     "say which call with before = \"all_reduce\"");
    }
}

FaultSettings read_fault(const Node& table, const Vocabulary& vocabulary, const Kind* workload,
                         Problems& problems) {
    Reader reader(table, "[[fault]]", problems);
    FaultSettings fault{.kind = reader.required_text("kind"), .place = table.place};
    if (const Node* when = reader.table("when")) {
        Reader inner(*when, "'when'", problems);
        fault.when.values = read_settings(inner, trigger_parameters());
        inner.refuse_the_rest();
        check_trigger(fault.when.values, problems);
    }
    const Kind* kind = vocabulary.fault(fault.kind);
    if (!kind) {
        const Node* node = reader.find("kind");
        if (node && node->is(Node::Kind::text)) {
            problems.add(node->place, fmt::format("there is no fault '{}'", fault.kind),
                         suggestion(fault.kind, names_of(vocabulary.faults)));
        }
        return fault;
    }
    reader.renamed(kind->name);
    fault.parameters = read_settings(reader, kind->parameters);
    check_required(reader, fault.parameters, *kind);
    if (workload) {
        const std::string of = " in " + workload->name;
        check_known_words(fault.parameters, "seam", workload->seams, "seam" + of, problems);
        check_known_words(fault.parameters, "block", workload->blocks, "block" + of, problems);
        std::vector<std::string> calls = call_words();
        calls.insert(calls.end(), workload->seams.begin(), workload->seams.end());
        calls.insert(calls.end(), workload->blocks.begin(), workload->blocks.end());
        check_known_words(fault.when.values, "before", calls, "call" + of, problems);
    }
    reader.refuse_the_rest();
    return fault;
}

}  // namespace

std::vector<FaultSettings> read_faults(Reader& top, const Vocabulary& vocabulary, const Kind* workload) {
    std::vector<FaultSettings> faults;
    for (const Node* table : top.tables("fault")) {
        faults.push_back(read_fault(*table, vocabulary, workload, top.problems()));
    }
    return faults;
}

}  // namespace deadrank::scenarios
