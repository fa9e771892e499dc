// scenarios/format/parts.cpp — Every id is held against the taxonomy, every kind against the vocabulary.
#include "scenarios/format/parts.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/setting_reader.h"
#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

namespace {

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
        reader.problems().add(reader.find("replays")->place, fmt::format("'{}' is no public report", report),
                              "write \"owner/repo#123\", \"owner/repo@commit\" or \"study: which one\"");
    }
}

}  // namespace

void read_format(Reader& top) {
    const Node* node = top.find("format");
    if (!node) {
        top.problems().add(top.node().place, "the format is not stated", "begin the file with format = 1");
    } else if (!node->is(Node::Kind::integer) || node->integer != 1) {
        top.problems().add(node->place, "this format is not known",
                           "write format = 1, or use a newer deadrank");
    }
}

Bug read_bug(Reader& top, const Taxonomy& taxonomy) {
    const Node* table = needed_table(top, "bug", "say its stage, symptom, cause and fix");
    if (!table) return {};
    Reader reader(*table, "[bug]", top.problems());
    Bug bug{read_id(reader, "stage", taxonomy.stages), read_id(reader, "symptom", taxonomy.symptoms),
            read_id(reader, "cause", taxonomy.causes), read_id(reader, "fix", taxonomy.fixes),
            reader.texts("replays")};
    check_reports(reader, bug.replays);
    reader.refuse_the_rest();
    return bug;
}

Settings read_cluster(Reader& top) {
    const Node* table = top.table("cluster");
    if (!table) return {};
    Reader reader(*table, "[cluster]", top.problems());
    Settings settings = read_settings(reader, cluster_parameters());
    reader.refuse_the_rest();
    return settings;
}

WorkloadSettings read_workload(Reader& top, const Vocabulary& vocabulary) {
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
    reader.refuse_the_rest();
    return workload;
}

std::vector<std::string> read_backends(Reader& top) {
    const std::vector<std::string> backends = top.texts("backends");
    for (const std::string& backend : backends) {
        const auto& known = backend_words();
        if (std::find(known.begin(), known.end(), backend) != known.end()) continue;
        top.problems().add(top.find("backends")->place, fmt::format("there is no backend '{}'", backend),
                           suggestion(backend, known));
    }
    return backends;
}

}  // namespace deadrank::scenarios
