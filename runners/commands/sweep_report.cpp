// runners/commands/sweep_report.cpp — Rows keep the order of the catalog; what needs a look is told again
// below the map, in words.
#include "runners/commands/sweep_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "results/text/words.h"

namespace deadrank::runners::commands {

namespace {

using find::Caught;
using find::Sweep;
using find::SweepCell;
using results::reports::Ink;
using results::reports::pad_left;
using results::reports::pad_right;
using results::reports::Style;

Ink ink_of(Caught caught) {
    switch (caught) {
        case Caught::named:
            return Ink::green;
        case Caught::noticed:
        case Caught::late:
            return Ink::cyan;
        case Caught::misnamed:
            return Ink::yellow;
        case Caught::missed:
        case Caught::untold:
            return Ink::red;
        default:
            return Ink::dim;
    }
}

bool is_bad(Caught caught) {
    return caught == Caught::missed || caught == Caught::misnamed || caught == Caught::late ||
           caught == Caught::untold;
}

// One column for each step and phase that occurs anywhere; faults of the start have the first one.
struct Columns {
    std::vector<std::pair<std::int64_t, std::string>> all;

    explicit Columns(const Sweep& sweep) {
        std::set<std::pair<std::int64_t, std::string>> seen;
        for (const SweepCell& cell : sweep.cells) seen.insert({cell.step, cell.phase});
        all.assign(seen.begin(), seen.end());
    }
};

std::string strip(const std::vector<const SweepCell*>& cells, const Columns& columns, const Style& style) {
    std::string text;
    for (const auto& [step, phase] : columns.all) {
        const SweepCell* worst = nullptr;
        for (const SweepCell* cell : cells) {
            if (cell->step == step && cell->phase == phase && (!worst || cell->caught > worst->caught))
                worst = cell;
        }
        text += worst ? style.paint(ink_of(worst->caught), find::sign_of(worst->caught)) : " ";
    }
    return text;
}

std::string counts_text(const std::map<Caught, std::size_t>& counts, const Style& style) {
    std::string text;
    for (const auto& [caught, count] : counts) {
        if (!text.empty()) text += " · ";
        text += style.paint(ink_of(caught), fmt::format("{} {}", count, find::name_of(caught)));
    }
    return text;
}

std::string legend(const Style& style) {
    std::string text = "  ";
    for (const Caught caught : {Caught::named, Caught::noticed, Caught::late, Caught::misnamed,
                                Caught::missed, Caught::harmless, Caught::untold}) {
        text +=
            fmt::format("{} {}  ", style.paint(ink_of(caught), find::sign_of(caught)), find::name_of(caught));
    }
    return text + "(blank: no such moment)\n";
}

std::string place_of(const SweepCell& cell) {
    std::string text = cell.rank < 0 ? "the job" : fmt::format("rank {}", cell.rank);
    if (cell.step >= 0) text += fmt::format(", step {}", cell.step);
    if (!cell.phase.empty()) text += ", " + cell.phase;
    return text;
}

std::vector<const SweepCell*> cells_of(const Sweep& sweep, std::size_t row) {
    std::vector<const SweepCell*> cells;
    for (const SweepCell& cell : sweep.cells) {
        if (cell.row == row) cells.push_back(&cell);
    }
    return cells;
}

std::string rank_lines(const std::vector<const SweepCell*>& cells, const Columns& columns, std::size_t width,
                       const Style& style) {
    std::map<std::int64_t, std::vector<const SweepCell*>> by_rank;
    for (const SweepCell* cell : cells) by_rank[cell->rank].push_back(cell);
    if (by_rank.size() < 2) return "";
    std::string text;
    for (const auto& [rank, some] : by_rank) {
        text += fmt::format("  {} {}\n", style.paint(Ink::dim, pad_left(fmt::format("rank {}", rank), width)),
                            strip(some, columns, style));
    }
    return text;
}

// What needs a look: each row's bad cells by what was said, the first place of each.
std::string bad_text(const Sweep& sweep, const Style& style) {
    std::string text;
    for (std::size_t row = 0; row < sweep.rows.size(); ++row) {
        std::map<std::pair<Caught, std::string>, std::vector<const SweepCell*>> ways;
        for (const SweepCell* cell : cells_of(sweep, row)) {
            if (!is_bad(cell->caught)) continue;
            // Ranks and steps differ from cell to cell; what was said up to them does not.
            const std::string said = cell->says.substr(0, cell->says.find(" about "));
            ways[{cell->caught, said}].push_back(cell);
        }
        for (const auto& [way, cells] : ways) {
            text += fmt::format("  {} {}: {} in {}, first at {}: {}\n",
                                style.paint(ink_of(way.first), find::sign_of(way.first)), sweep.rows[row],
                                find::name_of(way.first), results::counted(cells.size(), "place"),
                                place_of(*cells.front()), cells.front()->says);
        }
    }
    return text;
}

}  // namespace

std::string sweep_text(const Sweep& sweep, const Style& style, bool whole, double seconds) {
    const Columns columns(sweep);
    std::size_t width = 8;
    for (const std::string& row : sweep.rows) width = std::max(width, results::reports::columns_of(row));
    std::string text;
    for (std::size_t row = 0; row < sweep.rows.size(); ++row) {
        const auto cells = cells_of(sweep, row);
        if (cells.empty()) continue;
        text += fmt::format("  {} {}  {}\n", pad_right(sweep.rows[row], width), strip(cells, columns, style),
                            counts_text(sweep.counts(row), style));
        const bool bad =
            std::any_of(cells.begin(), cells.end(), [](const auto* cell) { return is_bad(cell->caught); });
        if (whole && bad) text += rank_lines(cells, columns, width, style);
    }
    text += "\n" + legend(style);
    if (const std::string bad = bad_text(sweep, style); !bad.empty()) text += "\n" + bad;
    for (const std::string& sentence : sweep.left_out)
        text += fmt::format("  {}\n", style.paint(Ink::dim, "left out: " + sentence));
    text += fmt::format("\n  {} · {} · {:.1f} s\n", results::counted(sweep.cells.size(), "run"),
                        counts_text(sweep.counts(), style), seconds);
    if (sweep.cells.size() < sweep.planned)
        text += fmt::format("  stopped before {} of {} were played\n", sweep.planned - sweep.cells.size(),
                            sweep.planned);
    return text;
}

std::string sweep_json(const Sweep& sweep) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const SweepCell& cell : sweep.cells) {
        nlohmann::ordered_json one = {{"fault", sweep.rows[cell.row]},
                                      {"rank", cell.rank},
                                      {"step", cell.step},
                                      {"phase", cell.phase},
                                      {"caught", find::name_of(cell.caught)},
                                      {"harm", find::name_of(cell.harm)},
                                      {"says", cell.says}};
        if (cell.after != results::never) one["after_ns"] = cell.after.count();
        cells.push_back(std::move(one));
    }
    nlohmann::ordered_json counts = nlohmann::ordered_json::object();
    for (const auto& [caught, count] : sweep.counts()) counts[std::string(find::name_of(caught))] = count;
    const nlohmann::ordered_json json = {
        {"planned", sweep.planned}, {"counts", counts}, {"left_out", sweep.left_out}, {"cells", cells}};
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace deadrank::runners::commands
