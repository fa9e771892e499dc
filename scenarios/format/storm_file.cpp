// scenarios/format/storm_file.cpp — Each minute of a memoryless storm is one draw: rates are parts per
// billion per minute, so that no logarithm is needed. Storms that come in bursts draw their gaps instead.
#include "scenarios/format/storm_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "scenarios/format/opening_comment.h"
#include "scenarios/format/reader.h"
#include "scenarios/model/chance.h"

namespace deadrank::scenarios {

namespace {

constexpr std::int64_t minute = 60'000'000'000, minutes_a_day = 1440;
constexpr std::uint64_t billion = 1'000'000'000;

void read_shape(Reader& top, Storm& storm) {
    const Node* node = top.table("storm");
    if (!node)
        return top.problems().add(top.node().place, "there is no [storm]",
                                  "state days, nodes and gpus_per_node");
    Reader shape(*node, "[storm]", top.problems());
    const auto at_least_one = [&](std::string_view key, std::int64_t otherwise) {
        const std::int64_t value = shape.integer(key, otherwise);
        if (value < 1)
            shape.problems().add(node->place, fmt::format("'{}' cannot be {}", key, value), "the least is 1");
        return value;
    };
    storm.days = at_least_one("days", storm.table.days > 0 ? storm.table.days : 1);
    storm.nodes = at_least_one("nodes", storm.nodes);
    storm.gpus_per_node = at_least_one("gpus_per_node", storm.gpus_per_node);
    storm.budget = at_least_one("budget", storm.budget);
    storm.checkpoint_every = shape.duration("checkpoint_every", 30 * minute);
    storm.restart = shape.duration("restart", 15 * minute);
    storm.unnoticed = shape.duration("unnoticed", 480 * minute);
    shape.refuse_unknown_keys();
}

void read_rows(Reader& top, Storm& storm) {
    std::vector<std::string> known;
    for (const IncidentRow& row : storm.table.rows) known.push_back(row.name);
    for (const Node* item : top.tables("row")) {
        Reader row(*item, "[[row]]", top.problems());
        const std::string name = row.required_text("name");
        if (std::find(known.begin(), known.end(), name) == known.end())
            top.problems().add(item->place, fmt::format("the table {} has no row '{}'", storm.table.id, name),
                               suggestion(name, known));
        storm.scenarios[name] = row.texts("scenarios");
        row.refuse_unknown_keys();
    }
    for (const std::string& name : known) {
        if (storm.scenarios.count(name) == 0)
            top.problems().add(top.node().place, fmt::format("the row '{}' of the table is left out", name),
                               "say which scenarios stand for it, or scenarios = []");
    }
}

std::string row_at(const IncidentTable& table, std::uint64_t weight) {
    for (const IncidentRow& row : table.rows) {
        if (weight < static_cast<std::uint64_t>(row.weight)) return row.name;
        weight -= static_cast<std::uint64_t>(row.weight);
    }
    return table.rows.back().name;
}

// The minutes of failures with Weibull gaps at the same mean rate (parts per billion per minute).
std::vector<std::int64_t> renewals(const Draw& draw, double rate, double shape, std::int64_t minutes) {
    std::vector<std::int64_t> found;
    if (rate <= 0) return found;
    const double scale = 1e9 / rate / std::tgamma(1 + 1 / shape);
    const auto gap = [&](std::uint64_t n) {
        const double chance = (static_cast<double>(draw.below(n, billion)) + 0.5) / 1e9;
        return scale * std::pow(-std::log(chance), 1 / shape);
    };
    // Begins long before the run, so that the run begins anywhere in a burst or a calm.
    double at = -20 * 1e9 / rate;
    for (std::uint64_t n = 0; at < static_cast<double>(minutes); ++n) {
        at += gap(n);
        const auto minute_of = static_cast<std::int64_t>(std::floor(at));
        if (minute_of >= 0 && minute_of < minutes) found.push_back(minute_of);
    }
    return found;
}

// 1 if the table has no shape or an impossible one.
double read_shape_percent(Reader& gaps) {
    const std::int64_t hundredths = gaps.integer("shape_percent", 100);
    if (hundredths >= 20 && hundredths <= 300) return static_cast<double>(hundredths) / 100;
    gaps.problems().add(gaps.node().place,
                        fmt::format("a shape of {} % is none that machines have", hundredths),
                        "real ones have 45 to 90; 100 is memoryless");
    return 1;
}

void read_gaps(Reader& top, Storm& storm) {
    const Node* node = top.table("gaps");
    if (!node) return;
    Reader gaps(*node, "[gaps]", top.problems());
    storm.shape = read_shape_percent(gaps);
    gaps.refuse_unknown_keys();
}

}  // namespace

Result<Storm> load_storm(const std::filesystem::path& file, const Taxonomy& taxonomy) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    const auto document = parse_document(*text, file.string());
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the storm", problems);
    Storm storm;
    storm.id = file.stem().string();
    storm.story = story_of(*text);
    top.integer("format", 1);
    const std::string id = top.required_text("table");
    std::vector<std::string> known;
    for (const IncidentTable& table : taxonomy.incidents) {
        known.push_back(table.id);
        if (table.id == id) storm.table = table;
    }
    if (storm.table.id.empty())
        problems.add(top.node().place, fmt::format("'{}' is not an incident table", id),
                     suggestion(id, known));
    else
        read_rows(top, storm);
    read_shape(top, storm);
    read_gaps(top, storm);
    top.refuse_unknown_keys();
    const bool rate = storm.table.counts_are_weights && storm.table.days > 0 && storm.table.devices > 0;
    const bool shares =
        !storm.table.counts_are_weights && std::all_of(storm.table.rows.begin(), storm.table.rows.end(),
                                                       [](const IncidentRow& row) { return row.weight > 0; });
    if (problems.empty() && !rate && !shares)
        problems.add(top.node().place, fmt::format("the table {} states neither a rate nor shares", id),
                     "choose a table with counts, days and devices, or with a share for each row");
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    return storm;
}

Result<double> load_gap_shape(const std::filesystem::path& file, const std::string& machine) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    const auto document = parse_document(*text, file.string());
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the gaps", problems);
    top.integer("format", 1);
    std::vector<std::string> known;
    double shape = 0;
    for (const Node* item : top.tables("machine")) {
        Reader row(*item, "[[machine]]", problems);
        known.push_back(row.required_text("name"));
        row.required_text("source");
        row.integer("failures", 0);
        row.integer("low_percent", 0);
        row.integer("high_percent", 0);
        const double own = read_shape_percent(row);
        if (known.back() == machine) shape = own;
        row.refuse_unknown_keys();
    }
    top.refuse_unknown_keys();
    if (problems.empty() && shape == 0)
        problems.add(top.node().place, fmt::format("'{}' is not a machine with fitted gaps", machine),
                     suggestion(machine, known));
    if (!problems.empty()) return tl::unexpected(joined(problems.sorted()));
    return shape;
}

std::vector<Incident> draw_incidents(const Storm& storm, std::uint64_t seed) {
    const std::string entity = "storm " + storm.id;
    const Draw when(seed, entity, "when"), which(seed, entity, "row"), scenario(seed, entity, "scenario");
    const Draw checkpoint(seed, entity, "checkpoint"), inner(seed, entity, "seed");
    const std::int64_t minutes = storm.days * minutes_a_day;
    std::vector<std::pair<std::int64_t, std::string>> strikes;
    if (storm.table.counts_are_weights) {
        std::uint64_t weights = 0;
        for (const IncidentRow& row : storm.table.rows) weights += static_cast<std::uint64_t>(row.weight);
        __extension__ using Wide = unsigned __int128;
        const Wide rate = Wide{weights} * billion * static_cast<std::uint64_t>(storm.ranks()) /
                          (Wide{static_cast<std::uint64_t>(storm.table.days * minutes_a_day)} *
                           static_cast<std::uint64_t>(storm.table.devices));
        if (storm.shape != 1) {
            for (const std::int64_t m :
                 renewals(when, static_cast<double>(static_cast<std::uint64_t>(rate)), storm.shape, minutes))
                strikes.emplace_back(m, row_at(storm.table, which.below(strikes.size(), weights)));
        }
        for (std::int64_t m = 0; storm.shape == 1 && m < minutes; ++m) {
            const auto n = static_cast<std::uint64_t>(m);
            if (when.below(n, billion) < rate)
                strikes.emplace_back(m, row_at(storm.table, which.below(n, weights)));
        }
    } else {
        for (std::size_t i = 0; i < storm.table.rows.size(); ++i) {
            if (which.below(i, billion) >= static_cast<std::uint64_t>(storm.table.rows[i].weight)) continue;
            strikes.emplace_back(when.between(i, 0, minutes - 1), storm.table.rows[i].name);
        }
        std::sort(strikes.begin(), strikes.end());
    }
    if (static_cast<std::int64_t>(strikes.size()) > storm.budget)
        strikes.resize(static_cast<std::size_t>(storm.budget));
    std::vector<Incident> incidents;
    for (const auto& [m, row] : strikes) {
        const auto n = static_cast<std::uint64_t>(incidents.size());
        incidents.push_back({m * minute, row, static_cast<std::size_t>(scenario.below(n, 1 << 20)),
                             checkpoint.between(n, 0, std::max<std::int64_t>(storm.checkpoint_every, 1) - 1),
                             1 + inner.below(n, billion)});
    }
    return incidents;
}

}  // namespace deadrank::scenarios
