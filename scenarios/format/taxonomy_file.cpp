// scenarios/format/taxonomy_file.cpp — Reads taxonomy.toml, and clues.toml beside it.
#include "scenarios/format/taxonomy_file.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/reader.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/value.h"

namespace deadrank::scenarios {

// ── Reads taxonomy.toml into plain values, and checks that its ids refer to each other.

namespace {

template <class Row, class Read>
std::vector<Row> rows(Reader& file, std::string_view key, Read read) {
    std::vector<Row> found;
    for (const Node* item : file.tables(key)) {
        Reader reader(*item, fmt::format("[[{}]]", key), file.problems());
        found.push_back(read(reader));
    }
    return found;
}

// `sign` is the key under which this kind of entry says how it is recognised.
std::vector<TaxonomyEntry> entries(Reader& file, std::string_view key, std::string_view sign) {
    return rows<TaxonomyEntry>(file, key, [&](Reader& row) {
        TaxonomyEntry entry;
        entry.id = row.required_text("id");
        entry.name = row.required_text("name");
        entry.definition = row.text("definition");
        entry.sign = row.text(sign);
        entry.stages = row.texts("stages");
        entry.distributed_only = row.flag("distributed_only", false);
        entry.coarse_class = row.text("class");
        entry.provenance = row.text("provenance");
        entry.examples = row.texts("examples");
        return entry;
    });
}

SymptomCausePair pair(Reader& row) {
    SymptomCausePair found{row.required_text("symptom"), row.required_text("cause"), row.texts("fixes")};
    found.scenarios = row.texts("from");
    found.examples = row.texts("reports");
    found.reports = static_cast<std::int64_t>(found.examples.size());
    return found;
}

ProjectClass project_class(Reader& row) {
    return {row.required_text("id"), row.text("name"), row.texts("symptoms"), row.texts("causes"),
            row.texts("fixes")};
}

CoarseClass coarse_class(Reader& row) {
    return {row.text("kind"), row.required_text("id"), row.text("name"), row.text("definition"),
            row.text("grade")};
}

TieBreak tie_break(Reader& row) { return {row.text("kind"), row.text("rule"), row.texts("between")}; }

std::int64_t share(Reader& row) {
    const Node* node = row.find("share_of_jobs_percent");
    if (!node) return 0;
    const auto value = parse_value(ValueType::ratio, node->text + "%");
    if (!value) row.problems().add(node->place, value.error());
    return value ? value->number : 0;
}

IncidentRow incident_row(Reader& row) {
    IncidentRow found{.name = row.required_text("name"), .category = row.text("category")};
    found.count = row.integer("count", 0);
    found.weight = found.count > 0 ? found.count : share(row);
    found.symptoms = row.texts("symptoms");
    found.causes = row.texts("causes");
    found.scenarios = row.texts("scenarios");
    found.component = row.text("component");
    return found;
}

IncidentTable incident_table(Reader& row) {
    IncidentTable table{
        .id = row.required_text("id"), .name = row.text("name"), .source = row.text("source")};
    table.grade = row.text("grade");
    table.note = row.text("note");
    table.counts_are_weights = row.flag("counts_are_weights", false);
    table.days = row.integer("days", 0);
    table.devices = row.integer("devices", 0);
    table.total = row.integer("total", 0);
    table.rows = rows<IncidentRow>(row, "row", incident_row);
    return table;
}

void check_known(const std::vector<std::string>& used, const std::vector<TaxonomyEntry>& entries,
                 std::string_view what, std::string_view where, const Reader& file, Problems& problems) {
    for (const std::string& id : used) {
        if (find(entries, id)) continue;
        problems.add(file.node().place,
                     fmt::format("{} names the {} '{}', which is not defined", where, what, id),
                     suggestion(id, ids(entries)));
    }
}

void check_references(const Taxonomy& taxonomy, Reader& file) {
    Problems& problems = file.problems();
    for (const auto* list : {&taxonomy.symptoms, &taxonomy.causes, &taxonomy.fixes}) {
        for (const TaxonomyEntry& entry : *list) {
            check_known(entry.stages, taxonomy.stages, "stage", entry.id, file, problems);
        }
    }
    for (const SymptomCausePair& one : taxonomy.pairs) {
        check_known({one.symptom}, taxonomy.symptoms, "symptom", "a pair", file, problems);
        check_known({one.cause}, taxonomy.causes, "cause", "a pair", file, problems);
        check_known(one.fixes, taxonomy.fixes, "fix", "a pair", file, problems);
    }
    for (const ProjectClass& one : taxonomy.classes) {
        check_known(one.symptoms, taxonomy.symptoms, "symptom", one.id, file, problems);
        check_known(one.causes, taxonomy.causes, "cause", one.id, file, problems);
    }
    for (const IncidentTable& table : taxonomy.incidents) {
        for (const IncidentRow& row : table.rows) {
            check_known(row.symptoms, taxonomy.symptoms, "symptom", table.id, file, problems);
            check_known(row.causes, taxonomy.causes, "cause", table.id, file, problems);
        }
    }
}

}  // namespace

Result<Taxonomy> load_taxonomy(const std::filesystem::path& file) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    const auto document = parse_document(*text, file.string());
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the taxonomy", problems);
    Taxonomy taxonomy;
    taxonomy.disclosure = top.text("disclosure");
    taxonomy.stages = entries(top, "stage", "sign");
    taxonomy.symptoms = entries(top, "symptom", "sign");
    taxonomy.causes = entries(top, "cause", "introduced");
    taxonomy.fixes = entries(top, "fix", "does");
    taxonomy.pairs = rows<SymptomCausePair>(top, "pair", pair);
    taxonomy.classes = rows<ProjectClass>(top, "project_class", project_class);
    taxonomy.incidents = rows<IncidentTable>(top, "incident_table", incident_table);
    taxonomy.coarse_classes = rows<CoarseClass>(top, "class", coarse_class);
    taxonomy.tie_breaks = rows<TieBreak>(top, "tie_break", tie_break);
    check_references(taxonomy, top);
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    return taxonomy;
}

// ── Ids that the taxonomy does not know are refused with their place.

namespace {

void check_id(std::string_view id, const std::vector<TaxonomyEntry>& known, const Place& place,
              Problems& problems) {
    if (find(known, id)) return;
    problems.add(place, fmt::format("'{}' is not in the taxonomy", id), suggestion(id, ids(known)));
}

ClueRule rule_from(Reader& row, const Taxonomy& taxonomy) {
    ClueRule rule{row.required_text("id"), row.required_text("what"), {}, row.texts("symptoms")};
    for (const std::string& symptom : rule.symptoms)
        check_id(symptom, taxonomy.symptoms, row.node().place, row.problems());
    const Node* points = row.table("points");
    if (!points) return rule;
    for (const Member& member : points->members) {
        check_id(member.key, taxonomy.causes, member.place, row.problems());
        if (!member.value.is(Node::Kind::integer))
            row.problems().add(member.place, "points are whole numbers", "write 4 or -2");
        rule.points[member.key] = member.value.integer;
    }
    return rule;
}

}  // namespace

Result<ClueTable> ClueTable::load(const std::filesystem::path& file, const Taxonomy& taxonomy) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    const auto document = parse_document(*text, file.string());
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the clues", problems);
    ClueTable table;
    top.integer("format", 1);
    table.report = top.integer("report", table.report);
    table.prior_most = top.integer("prior_most", table.prior_most);
    if (const Node* list = top.find("detector")) {
        for (const Node& item : list->items) table.detector.push_back(item.integer);
    }
    for (const Node* item : top.tables("clue")) {
        Reader row(*item, "[[clue]]", problems);
        table.rules.push_back(rule_from(row, taxonomy));
        row.refuse_unknown_keys();
    }
    top.refuse_unknown_keys();
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    return table;
}

}  // namespace deadrank::scenarios
