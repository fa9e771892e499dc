// scenarios/format/scenario_tables.cpp — The tables of a scenario file, each read into its part of the model.
#include "scenarios/format/scenario_tables.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/plan.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/text.h"

namespace deadrank::scenarios {

namespace {  // every id is checked against the taxonomy, every kind against the vocabulary

// The table [key], or a complaint that it is missing.
const Node* needed_table(Reader& top, std::string_view key, std::string remedy) {
    if (!top.find(key)) {
        top.problems().add(top.node().place, fmt::format("there is no [{}]", key), std::move(remedy));
        return nullptr;
    }
    return top.table(key);
}

std::string read_id(Reader& reader, std::string_view key, const std::vector<TaxonomyEntry>& entries) {
    const std::string id = reader.required_text(key);
    const Node* node = reader.find(key);
    if (node && node->is(Node::Kind::text) && !find(entries, id)) {
        reader.problems().add(node->place, fmt::format("the taxonomy has no {} '{}'", key, id),
                              suggestion(id, ids(entries)));
    }
    return id;
}

bool has_letters_only(std::string_view text, std::string_view also) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.find(c) != std::string_view::npos;
    });
}

// "owner/repo#123", "owner/repo@1a2b3c", or "study: …".
bool is_report(std::string_view text) {
    if (text.starts_with("study: ")) return text.size() > 7;
    const auto slash = text.find('/');
    const auto mark = text.find_first_of("#@");
    if (slash == std::string_view::npos || mark == std::string_view::npos || mark < slash) return false;
    const std::string_view number = text.substr(mark + 1);
    return has_letters_only(text.substr(0, slash), "-_.") &&
           has_letters_only(text.substr(slash + 1, mark - slash - 1), "-_.") &&
           (text[mark] == '@'
                ? has_letters_only(number, "")
                : !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos);
}

void check_reports(Reader& reader, const std::vector<std::string>& reports) {
    for (const std::string& report : reports) {
        if (is_report(report)) continue;
        reader.problems().add(reader.find("replays")->place,
                              fmt::format("'{}' is not a public report", report),
                              "write \"owner/repo#123\", \"owner/repo@commit\" or \"study: which one\"");
    }
}

}  // namespace

Place OutsideText::line(std::int64_t number) const {
    Place place = first_line;
    if (place.line > 0) {
        place.line += static_cast<decltype(place.line)>(number - 1);
        if (number > 1) place.column = 1;
    }
    return place;
}

OutsideText read_outside_text(const Node& node, const std::filesystem::path& scenario,
                              const std::vector<std::string>& suffixes, Problems& problems) {
    if (!node.is(Node::Kind::text)) return {};  // reported where it is read as a setting
    const bool names_a_file = !node.several_lines && node.text.find('\n') == std::string::npos &&
                              std::any_of(suffixes.begin(), suffixes.end(), [&](const std::string& suffix) {
                                  return node.text.ends_with(suffix);
                              });
    if (!names_a_file) return {node.text, node.several_lines ? node.first_letter : Place{node.place.file}};
    std::error_code ignored;
    const std::filesystem::path file = std::filesystem::absolute(scenario, ignored).parent_path() / node.text;
    const auto text = std::filesystem::is_regular_file(file, ignored)
                          ? read_text(file)
                          : Result<std::string>(refuse(ErrorCode::io, ""));
    if (text) return {*text, Place{file.lexically_normal().string(), 1, 1}};
    problems.add(node.place, fmt::format("there is no file '{}' beside the scenario", node.text),
                 "name a file in the same directory, or write its text between '''");
    return {};
}

void read_format(Reader& top) {
    const Node* node = top.find("format");
    if (!node) {
        top.problems().add(top.node().place, "the format is not stated", "begin the file with format = 1");
    } else if (!node->is(Node::Kind::integer) || node->integer != 1) {
        top.problems().add(node->place, "this format is not known",
                           "write format = 1, or use a newer deadrank");
    }
}

Bug read_bug(Reader& top, const Taxonomy& taxonomy, const std::filesystem::path& scenario) {
    const Node* table = needed_table(top, "bug", "say its stage, symptom, cause and fix");
    if (!table) return {};
    Reader reader(*table, "[bug]", top.problems());
    Bug bug{read_id(reader, "stage", taxonomy.stages), read_id(reader, "symptom", taxonomy.symptoms),
            read_id(reader, "cause", taxonomy.causes), read_id(reader, "fix", taxonomy.fixes),
            reader.texts("replays")};
    bug.per_rank = reader.text("per_rank");
    if (const Node* patch = reader.find("patch")) {
        bug.patch = reader.text("patch");
        bug.patch = read_outside_text(*patch, scenario, {".diff", ".patch"}, top.problems()).text;
    }
    check_reports(reader, bug.replays);
    reader.refuse_unknown_keys();
    return bug;
}

Settings read_cluster(Reader& top) {
    const Node* table = top.table("cluster");
    if (!table) return {};
    Reader reader(*table, "[cluster]", top.problems());
    Settings settings = read_settings(reader, cluster_parameters());
    reader.refuse_unknown_keys();
    return settings;
}

namespace {

// "'stage' is a setting of zero", for a word that other kinds have; empty when none has.
template <class Has>
std::string of_others(std::string_view word, const char* what, const std::vector<Kind>& kinds, Has has) {
    std::vector<std::string> owners;
    for (const Kind& kind : kinds) {
        if (has(kind)) owners.push_back(kind.name);
    }
    return owners.empty() ? "" : fmt::format("'{}' is a {} of {}", word, what, fmt::join(owners, ", "));
}

std::string settings_of_others(std::string_view word, const char* what, const std::vector<Kind>& kinds) {
    return of_others(word, what, kinds, [&](const Kind& kind) {
        return std::any_of(kind.parameters.begin(), kind.parameters.end(),
                           [&](const Parameter& parameter) { return parameter.name == word; });
    });
}

}  // namespace

std::optional<FaultSettings> read_patch(Reader& top, const Bug& bug, const WorkloadSettings& workload,
                                        const std::filesystem::path& scenario) {
    if (bug.patch.empty()) return std::nullopt;
    const auto* stated = top.find("bug")->find("patch");
    const Node& node = stated ? stated->value : top.find("workload")->find("fix")->value;
    if (workload.name != python_workload) {
        top.problems().add(node.place, "[bug] patch has no program to change",
                           "say kind = \"python\" in [workload], or name a fault");
        return std::nullopt;
    }
    const auto program = workload.settings.find("program");
    if (program == workload.settings.end() || program->second.options.empty()) return std::nullopt;
    const auto refuse = [&](const PatchMistake& mistake, std::int64_t first) {
        const OutsideText text = read_outside_text(node, scenario, {".diff", ".patch"}, top.problems());
        top.problems().add(text.line(first + mistake.line - 1), mistake.what, mistake.remedy);
        return std::nullopt;
    };
    const auto parts = split_patch(bug.patch);
    if (!parts) return refuse(parts.error(), 1);
    for (const FilePatch& part : *parts) {
        if (!part.file.empty()) continue;  // which release is installed is seen when it is played
        const auto made = apply_patch(program->second.options.front().text, part.text);
        if (!made) return refuse(made.error(), part.first);
    }
    FaultSettings fault{.kind = patch_fault, .place = node.place};
    Setting patch;
    patch.options = {Value{.type = ValueType::text, .text = bug.patch}};
    patch.place = node.place;
    fault.parameters["patch"] = patch;
    return fault;
}

namespace {

// A fix is of packages alone: the program beside the scenario is the fixed one.
void check_fix(const OutsideText& fix, Problems& problems) {
    if (fix.text.empty()) return;
    const auto parts = split_patch(fix.text);
    if (!parts) {
        problems.add(fix.line(parts.error().line), parts.error().what, parts.error().remedy);
        return;
    }
    for (const FilePatch& part : *parts)
        if (part.file.empty())
            problems.add(fix.line(part.first), "the fix changes no installed package",
                         "begin it with `+++ b/torch/optim/sgd.py`, and let the program be the fixed one");
}

}  // namespace

WorkloadSettings read_workload(Reader& top, const Vocabulary& vocabulary,
                               const std::filesystem::path& scenario) {
    WorkloadSettings workload;
    const Node* table = needed_table(top, "workload", "say which kind of job runs: kind = \"data_parallel\"");
    if (!table) return workload;
    Reader reader(*table, "[workload]", top.problems());
    workload.name = reader.required_text("kind");
    workload.kind = vocabulary.workload(workload.name);
    if (!workload.kind) {
        const Node* node = reader.find("kind");
        if (node && node->is(Node::Kind::text)) {
            top.problems().add(node->place, fmt::format("there is no workload '{}'", workload.name),
                               suggestion(workload.name, names_of(vocabulary.workloads)));
        }
        return workload;
    }
    workload.settings = read_settings(reader, workload.kind->parameters);
    std::map<std::string, OutsideText> outside;  // by parameter
    for (const Parameter& parameter : workload.kind->parameters) {
        const Node* const node = parameter.suffixes.empty() ? nullptr : reader.find(parameter.name);
        if (!node) continue;
        OutsideText& read = outside[parameter.name];
        read = read_outside_text(*node, scenario, parameter.suffixes, top.problems());
        for (Value& option : workload.settings[parameter.name].options) option.text = read.text;
    }
    if (workload.name == python_workload) {
        auto own = std::make_shared<Kind>(*workload.kind);
        if (!reader.find("program"))
            top.problems().add(table->place, "python lacks 'program'",
                               "add program = \"train.py\", a file beside the scenario, or its text");
        add_program_words(outside["program"].text, *own);
        check_fix(outside["fix"], top.problems());
        workload.kind = own.get();
        workload.own = std::move(own);
    }
    reader.elsewhere(
        [&](std::string_view word) { return settings_of_others(word, "setting", vocabulary.workloads); });
    reader.refuse_unknown_keys();
    return workload;
}

std::vector<std::string> read_backends(Reader& top) {
    const std::vector<std::string> backends = top.texts("backends");
    for (const std::string& backend : backends) {
        const auto& known = list_words<BackendId>();
        if (std::find(known.begin(), known.end(), backend) != known.end()) continue;
        top.problems().add(top.find("backends")->place, fmt::format("there is no backend '{}'", backend),
                           suggestion(backend, known));
    }
    return backends;
}

// ── Reads [expect]: what must be noticed, what must be blamed, how soon, and how the job must react.

namespace {

void check_each(Reader& reader, std::string_view key, const std::vector<std::string>& words,
                const std::vector<std::string>& known, std::string_view what) {
    for (const std::string& word : words) {
        if (std::find(known.begin(), known.end(), word) != known.end()) continue;
        reader.problems().add(reader.find(key)->place, fmt::format("there is no {} '{}'", what, word),
                              suggestion(word, known));
    }
}

bool draws(std::string_view selector) {
    const auto words = parts_of(selector, ' ');
    return std::find(words.begin(), words.end(), "any") != words.end();
}

void read_ranks(Reader& reader, Expectation& expect) {
    for (const std::string_view key : {"rank", "ranks"}) {
        const Node* node = reader.find(key);
        if (!node) continue;
        const Setting setting = read_setting(*node, {std::string(key), ValueType::ranks}, reader.problems());
        if (!expect.ranks.empty() || !expect.rank_words.empty()) {
            reader.problems().add(node->place, "'rank' and 'ranks' in [expect] are one key",
                                  "keep one of them");
        } else if (draws(setting.selector)) {
            reader.problems().add(
                node->place,
                fmt::format("'{}' in [expect] draws nothing, and \"{}\" would", key, setting.selector),
                "leave it out where the fault's own ranks are meant, or name them: 3, [1, 2], \"node 1\"");
        } else if (!setting.selector.empty()) {
            expect.rank_words = setting.selector;
        } else if (!setting.options.empty()) {
            expect.ranks = setting.options.front().list;
        }
    }
}

// One symptom or a list of them, of which any answers. "none" alone asks for silence where that may be asked.
void read_symptoms(Reader& reader, Expectation& expect, const std::vector<std::string>& symptoms) {
    const bool may_be_silent = expect.silent();
    std::vector<std::string> named = reader.texts("symptom");
    expect.symptom.clear();
    expect.alternatives.clear();
    if (named.empty()) {
        reader.problems().add(reader.find("symptom")->place, "'symptom' names no symptom",
                              "leave it out, or name a symptom of the taxonomy");
        return;
    }
    if (may_be_silent && named == std::vector<std::string>{std::string(no_symptom)}) return;
    check_each(reader, "symptom", named, symptoms, "symptom");
    expect.symptom = std::move(named.front());
    named.erase(named.begin());
    expect.alternatives = std::move(named);
}

// `also`, or a list, names what else may be reported; "none" stresses that everything else is a false alarm.
void read_others(Reader& reader, Expectation& expect, const std::vector<std::string>& symptoms) {
    expect.also = reader.texts("also");
    check_each(reader, "also", expect.also, symptoms, "symptom");
    std::vector<std::string> others = reader.texts("others");
    const Node* node = reader.find("others");
    if (!node || others == std::vector<std::string>{"none"}) return;
    check_each(reader, "others", others, symptoms, "symptom");
    expect.also.insert(expect.also.end(), others.begin(), others.end());
}

BlameFields read_blames(Reader& reader) {
    const std::vector<std::string> words = reader.texts("blames");
    check_each(reader, "blames", words, list_words<BlameField>(), "field of a blame");
    BlameFields fields;
    for (const std::string& word : words) {
        if (const auto field = read_word<BlameField>(word)) fields.push_back(*field);
    }
    return fields;
}

// Why the expectation asks for less than it could.
void read_because(Reader& reader, Expectation& expect) {
    const Node* table = reader.table("because");
    if (!table) return;
    Reader because(*table, "'because'", reader.problems());
    for (const char* field : {"blames", "reaction", "within"}) {
        if (because.find(field)) expect.because[field] = because.text(field);
    }
    because.refuse_unknown_keys();
}

}  // namespace

Expectation read_expect_table(const Node& table, std::string name, Expectation expect,
                              const Taxonomy& taxonomy, Problems& problems) {
    Reader reader(table, std::move(name), problems);
    std::vector<std::string> symptoms = ids(taxonomy.symptoms);
    if (reader.find("symptom")) {
        read_symptoms(reader, expect, symptoms);
    }
    expect.blames = read_blames(reader);
    read_ranks(reader, expect);
    if (reader.find("step")) expect.step = reader.integer("step", 0);
    expect.within = reader.duration("within", expect.within);
    read_others(reader, expect, symptoms);
    expect.reaction = reader.one_of("reaction", expect.reaction);
    expect.recovers_within = reader.duration("recovers_within", expect.recovers_within);
    expect.unseen = reader.text("unseen");
    read_because(reader, expect);
    reader.refuse_unknown_keys();
    return expect;
}

Expectation read_expectation(Reader& top, const Bug& bug, const Taxonomy& taxonomy) {
    const Expectation usual{.symptom = bug.symptom};
    if (!top.find("expect")) {
        top.problems().add(top.node().place, "there is no [expect]", "say what must be noticed");
        return usual;
    }
    const Node* table = top.table("expect");
    return table ? read_expect_table(*table, "[expect]", usual, taxonomy, top.problems()) : usual;
}

// ── Reads [[fault]]: its kind, what the kind asks for, and when it acts.

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

// The other workloads that have this word as a seam, or else as a block.
std::string places_of_others(std::string_view word, const Vocabulary& vocabulary) {
    const std::string name(word);
    std::string seams = of_others(word, "seam", vocabulary.workloads,
                                  [&](const Kind& kind) { return has_word(kind.seams, name); });
    return seams.empty() ? of_others(word, "block", vocabulary.workloads,
                                     [&](const Kind& kind) { return has_word(kind.blocks, name); })
                         : seams;
}

// Every option of `key` in a fault or trigger must be one of the known words.
void check_known_words(const Settings& settings, std::string_view key, const std::vector<std::string>& known,
                       const std::string& what, const HintSource& elsewhere, Problems& problems) {
    const auto setting = settings.find(std::string(key));
    if (setting == settings.end()) return;
    for (const Value& option : setting->second.options) {
        if (has_word(known, option.text)) continue;
        const std::string there = elsewhere(option.text);
        problems.add(setting->second.place, fmt::format("there is no {} '{}'", what, option.text),
                     there.empty() ? suggestion(option.text, known) : there);
    }
}

bool says(const Settings& when, std::string_view key) { return when.count(std::string(key)) > 0; }

void check_trigger(const Settings& when, Problems& problems) {
    const auto start = when.find("start");
    const bool said = start != when.end() && !start->second.options.empty();
    const bool at_start = said && start->second.options.front().number != 0;
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

void check_words(const FaultSettings& fault, const Kind& workload, const Vocabulary& vocabulary,
                 Problems& problems) {
    const auto others = [&](std::string_view word) { return places_of_others(word, vocabulary); };
    const std::string of = " in " + workload.name;
    check_known_words(fault.parameters, "seam", workload.seams, "seam" + of, others, problems);
    check_known_words(fault.parameters, "block", workload.blocks, "block" + of, others, problems);
    check_known_words(fault.parameters, "checks", checked_words(workload), "seam" + of, others, problems);
    check_known_words(fault.parameters, "against", setting_words(workload), "setting" + of, others, problems);
    std::vector<std::string> calls = call_words();
    calls.insert(calls.end(), workload.seams.begin(), workload.seams.end());
    calls.insert(calls.end(), workload.blocks.begin(), workload.blocks.end());
    check_known_words(fault.when.values, "before", calls, "call" + of, others, problems);
}

void read_when(Reader& reader, TriggerSettings& trigger) {
    const Node* when = reader.table("when");
    if (!when) return;
    Reader inner(*when, "'when'", reader.problems());
    trigger.values = read_settings(inner, trigger_parameters());
    inner.refuse_unknown_keys();
    check_trigger(trigger.values, reader.problems());
}

FaultSettings read_fault(const Node& table, const Vocabulary& vocabulary, const Kind* workload,
                         Problems& problems) {
    Reader reader(table, "[[fault]]", problems);
    FaultSettings fault{.kind = reader.required_text("kind"), .place = table.place};
    read_when(reader, fault.when);
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
    fault.provokes = reader.flag("provokes", false);
    fault.hardware = reader.flag("hardware", false);
    if (fault.hardware && !fault.parameters.contains("rank") && !fault.parameters.contains("node")) {
        reader.problems().add(table.place, fmt::format("'{}' sits in no machine", fault.kind),
                              "'hardware' is for faults of a rank or a node");
    }
    check_required(reader, fault.parameters, *kind);
    if (workload) check_words(fault, *workload, vocabulary, problems);
    reader.elsewhere(
        [&](std::string_view word) { return settings_of_others(word, "parameter", vocabulary.faults); });
    reader.refuse_unknown_keys();
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

void read_fault_change(Reader& reader, const Kind& kind, const Kind* workload, const Vocabulary& vocabulary,
                       HealedFault& change) {
    FaultSettings fault{.kind = kind.name, .place = reader.node().place};
    read_when(reader, fault.when);
    fault.parameters = read_settings(reader, kind.parameters);
    if (workload) check_words(fault, *workload, vocabulary, reader.problems());
    reader.refuse_unknown_keys();
    change = {.kept = true, .parameters = std::move(fault.parameters), .when = std::move(fault.when)};
}

}  // namespace deadrank::scenarios
