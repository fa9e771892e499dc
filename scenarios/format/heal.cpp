// scenarios/format/heal.cpp — Each fault is kept, dropped or changed on its own; a fix that changes nothing
// is refused before anything runs.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

namespace {

Settings read_changes(Reader& heal, std::string_view key, const std::vector<Parameter>& parameters) {
    const Node* table = heal.table(key);
    if (!table) return {};
    Reader reader(*table, fmt::format("[heal.{}]", key), heal.problems());
    Settings settings = read_settings(reader, parameters);
    reader.refuse_unknown_keys();
    return settings;
}

// fault = "none" | "keep" for all of them, or a list with a word for each.
void read_kept(Reader& reader, Heal& heal) {
    const Node* node = reader.find("fault");
    if (!node) return;
    const std::vector<std::string> known = {"none", "keep"};
    std::vector<std::string> words = reader.texts("fault");
    for (const std::string& word : words) {
        if (std::count(known.begin(), known.end(), word) > 0) continue;
        reader.problems().add(node->place, fmt::format("there is no fault '{}'", word),
                              suggestion(word, known));
        return;
    }
    if (node->is(Node::Kind::text) && words.size() == 1) words.assign(heal.faults.size(), words.front());
    if (words.size() != heal.faults.size()) {
        reader.problems().add(
            node->place, fmt::format("'fault' has {} words for {} faults", words.size(), heal.faults.size()),
            "say \"keep\" or \"none\" of each [[fault]], in their order, or once for all");
        return;
    }
    for (std::size_t i = 0; i < words.size(); ++i) heal.faults[i].kept = words[i] == "keep";
}

// Which fault a change is about, counted from 1; may be left out where there is only one.
std::optional<std::size_t> changed_fault(Reader& reader, std::size_t faults) {
    const bool said = reader.find("fault") != nullptr;
    const std::int64_t number = reader.integer("fault", 1);
    if ((said || faults == 1) && number >= 1 && static_cast<std::size_t>(number) <= faults)
        return static_cast<std::size_t>(number - 1);
    reader.problems().add(reader.node().place, "which [[fault]] it changes is not said",
                          fmt::format("add fault = 1 to {}, in the order of the file", faults));
    return std::nullopt;
}

void read_fault_changes(Reader& reader, const Kind* workload, const std::vector<FaultSettings>& faults,
                        const Vocabulary& vocabulary, Heal& heal) {
    for (const Node* table : reader.tables("change")) {
        Reader change(*table, "[[heal.change]]", reader.problems());
        const auto which = changed_fault(change, faults.size());
        if (!which) continue;
        const Kind* kind = vocabulary.fault(faults[*which].kind);
        if (!kind) continue;  // reported where the fault is
        if (heal.faults[*which].changed()) {
            reader.problems().add(table->place, fmt::format("fault {} is changed twice", *which + 1),
                                  "say all of it in one [[heal.change]]");
        }
        read_fault_change(change, *kind, workload, vocabulary, heal.faults[*which]);
        if (heal.faults[*which].changed()) continue;
        reader.problems().add(table->place, "it changes nothing", "give it a parameter, or a `when`");
    }
}

// When a kept fault ends a process only to make the bug show, and the cluster restarts processes, the healed
// job restarts too. [heal.expect] may say otherwise.
bool keeps_a_restart(Reader& top, const Heal& heal, const std::vector<FaultSettings>& faults) {
    bool ends_a_rank = false;
    for (std::size_t i = 0; i < faults.size(); ++i)
        ends_a_rank |= heal.faults[i].kept && faults[i].provokes &&
                       (faults[i].kind == FaultId::kill_rank || faults[i].kind == FaultId::exit_rank);
    const Node* cluster = top.table("cluster");
    const bool again =
        heal.cluster.contains("restarts_max") ||
        (cluster && std::any_of(cluster->members.begin(), cluster->members.end(), [](const Member& member) {
             return member.key == "restarts_max" && member.value.integer != 0;
         }));
    return ends_a_rank && again;
}

void check_heals(const Node& table, const Heal& heal, Problems& problems) {
    if (!problems.empty()) return;
    const bool all_kept = std::all_of(heal.faults.begin(), heal.faults.end(), [](const HealedFault& fault) {
        return fault.kept && !fault.changed();
    });
    if (all_kept && heal.cluster.empty() && heal.workload.empty()) {
        problems.add(table.place, "the healed run would be the faulty one again",
                     "change something in [heal.cluster], [heal.workload] or [[heal.change]], or write "
                     "fault = \"none\"");
    }
    const bool none_kept = std::none_of(heal.faults.begin(), heal.faults.end(),
                                        [](const HealedFault& fault) { return fault.kept; });
    if (!heal.as_control.empty() && none_kept && !(heal.cluster.empty() && heal.workload.empty())) {
        problems.add(
            table.place, "'as_control' contradicts what else is said",
            "leave it out: without a fault, settings make the healed run another one than the control");
    }
    if (!heal.as_control.empty() && !heal.workaround.empty()) {
        problems.add(table.place, "'workaround' contradicts 'as_control'",
                     "keep one: a run that is the control again shows no workaround");
    }
}

}  // namespace

Heal read_heal(Reader& top, const Kind* workload, const std::vector<FaultSettings>& faults, bool patched,
               const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    Heal heal;
    heal.faults.resize(faults.size());
    for (HealedFault& fault : heal.faults) fault.kept = patched;
    if (patched && faults.empty()) heal.as_control = "the fix is the program of the control";
    const Node* table = top.table("heal");
    if (!table) return heal;
    Reader reader(*table, "[heal]", top.problems());
    read_kept(reader, heal);
    heal.says = reader.text("says");
    if (reader.find("as_control")) heal.as_control = reader.text("as_control");
    heal.workaround = reader.text("workaround");
    heal.cluster = read_changes(reader, "cluster", cluster_parameters());
    if (workload) heal.workload = read_changes(reader, "workload", workload->parameters);
    reader.know("workload");
    read_fault_changes(reader, workload, faults, vocabulary, heal);
    if (keeps_a_restart(top, heal, faults)) heal.expect.reaction = WantedReaction::restart;
    if (const Node* expect = reader.table("expect"))
        heal.expect = read_expect_table(*expect, "[heal.expect]", heal.expect, taxonomy, top.problems());
    reader.refuse_unknown_keys();
    if (!faults.empty() && !patched) check_heals(*table, heal, top.problems());
    return heal;
}

}  // namespace deadrank::scenarios
