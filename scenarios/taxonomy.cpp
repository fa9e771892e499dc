// scenarios/taxonomy.cpp — Reads taxonomy.toml into plain values.
#include "scenarios/taxonomy.h"

#include <algorithm>

#include "scenarios/toml_reader.h"

namespace deadrank::scenarios {

namespace {

std::vector<TaxonomyEntry> entries(const toml::table& file, std::string_view key, std::string_view sign,
                                   Problems& problems) {
    std::vector<TaxonomyEntry> found;
    TomlReader top(file, "taxonomy", problems);
    const toml::array* list = top.tables(key);
    if (!list) return found;
    for (const toml::node& item : *list) {
        TomlReader reader(*item.as_table(), std::string(key), problems);
        TaxonomyEntry entry;
        entry.id = reader.text("id", true);
        entry.name = reader.text("name", true);
        entry.definition = reader.text("definition");
        entry.sign = reader.text(sign);
        entry.stages = reader.texts("stages");
        entry.distributed_only = reader.flag("distributed_only", false);
        entry.coarse_class = reader.text("class");
        entry.provenance = reader.text("provenance");
        entry.examples = reader.texts("examples");
        found.push_back(std::move(entry));
    }
    return found;
}

template <class Entry, class Read>
std::vector<Entry> rows(const toml::table& file, std::string_view key, Problems& problems, Read read) {
    std::vector<Entry> found;
    TomlReader top(file, "taxonomy", problems);
    if (const toml::array* list = top.tables(key)) {
        for (const toml::node& item : *list) {
            TomlReader reader(*item.as_table(), std::string(key), problems);
            found.push_back(read(reader));
        }
    }
    return found;
}

IncidentTable incident_table(TomlReader& reader, Problems& problems) {
    IncidentTable table{reader.text("id", true), reader.text("name"), reader.text("source"), {}};
    if (const toml::array* list = reader.tables("row")) {
        for (const toml::node& item : *list) {
            TomlReader row(*item.as_table(), "row", problems);
            table.rows.push_back({row.text("name", true), row.integer("count", 0), row.texts("symptoms"),
                                  row.texts("causes"), row.text("component"), row.texts("scenarios")});
        }
    }
    return table;
}

}  // namespace

Result<Taxonomy> Taxonomy::load(const std::filesystem::path& file) {
    const auto text = read_text(file.string());
    if (!text) return tl::unexpected(text.error());
    const auto table = parse_toml(*text, file.string());
    if (!table) return tl::unexpected(table.error());
    Problems problems(file.string());
    Taxonomy taxonomy;
    TomlReader top(*table, "taxonomy", problems);
    taxonomy.disclosure = top.text("disclosure");
    taxonomy.stages = entries(*table, "stage", "sign", problems);
    taxonomy.symptoms = entries(*table, "symptom", "sign", problems);
    taxonomy.causes = entries(*table, "cause", "introduced", problems);
    taxonomy.fixes = entries(*table, "fix", "does", problems);
    taxonomy.pairs = rows<SymptomCausePair>(*table, "pair", problems, [](TomlReader& row) {
        return SymptomCausePair{row.text("symptom", true), row.text("cause", true), row.texts("fixes"),
                                static_cast<std::int64_t>(row.texts("reports").size()), row.texts("from")};
    });
    taxonomy.classes = rows<ProjectClass>(*table, "project_class", problems, [](TomlReader& row) {
        return ProjectClass{row.text("id", true), row.text("name"), row.texts("symptoms"),
                            row.texts("causes")};
    });
    taxonomy.incidents = rows<IncidentTable>(*table, "incident_table", problems,
                                             [&](TomlReader& row) { return incident_table(row, problems); });
    if (!problems.empty()) return tl::unexpected(problems.first());
    return taxonomy;
}

const TaxonomyEntry* find(const std::vector<TaxonomyEntry>& entries, std::string_view id) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const TaxonomyEntry& entry) { return entry.id == id; });
    return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> ids(const std::vector<TaxonomyEntry>& entries) {
    std::vector<std::string> all;
    for (const TaxonomyEntry& entry : entries) all.push_back(entry.id);
    return all;
}

}  // namespace deadrank::scenarios
