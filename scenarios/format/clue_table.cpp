// scenarios/format/clue_table.cpp — Ids that the taxonomy does not know are refused with their place.
#include "scenarios/format/clue_table.h"

#include <fmt/format.h>

#include "scenarios/format/reader.h"
#include "scenarios/format/scenario_file.h"

namespace deadrank::scenarios {

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
        row.refuse_the_rest();
    }
    top.refuse_the_rest();
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    return table;
}

}  // namespace deadrank::scenarios
