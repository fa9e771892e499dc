// runners/find/drawing.cpp — Draws plans at random, and rows in which each pair of values occurs together at
// least once.
#include "runners/find/drawing.h"

#include <algorithm>
#include <cstdint>

#include "runners/find/harm.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find {

// Each row starts with the first uncovered pair; every other factor takes the value that covers most new
// pairs.

namespace {

using ValueIndexes = std::vector<std::size_t>;
constexpr std::size_t open = SIZE_MAX;

class Covering {
public:
    explicit Covering(const std::vector<std::size_t>& levels) : levels_(levels), met_(levels.size()) {
        for (std::size_t a = 0; a < levels.size(); ++a) {
            met_[a].resize(levels.size());
            for (std::size_t b = a + 1; b < levels.size(); ++b)
                met_[a][b].assign(levels[a] * levels[b], false);
        }
    }

    std::vector<ValueIndexes> rows() {
        std::vector<ValueIndexes> rows;
        for (std::size_t a = 0; a < levels_.size(); ++a) {
            for (std::size_t b = a + 1; b < levels_.size(); ++b) cover(a, b, rows);
        }
        return rows;
    }

private:
    void cover(std::size_t a, std::size_t b, std::vector<ValueIndexes>& rows) {
        for (std::size_t x = 0; x < levels_[a]; ++x) {
            for (std::size_t y = 0; y < levels_[b]; ++y) {
                if (met_[a][b][x * levels_[b] + y]) continue;
                ValueIndexes row(levels_.size(), open);
                row[a] = x;
                row[b] = y;
                fill(row);
                mark(row);
                rows.push_back(std::move(row));
            }
        }
    }

    bool has_met(std::size_t a, std::size_t x, std::size_t b, std::size_t y) const {
        return a < b ? met_[a][b][x * levels_[b] + y] : met_[b][a][y * levels_[a] + x];
    }

    // How many uncovered pairs this value would cover, with the values already in the row.
    std::size_t gain(const ValueIndexes& row, std::size_t factor, std::size_t value) const {
        std::size_t sum = 0;
        for (std::size_t other = 0; other < row.size(); ++other) {
            if (other != factor && row[other] != open && !has_met(factor, value, other, row[other])) ++sum;
        }
        return sum;
    }

    void fill(ValueIndexes& row) {
        for (std::size_t factor = 0; factor < row.size(); ++factor) {
            if (row[factor] != open) continue;
            // If no value gains anything, values take turns, so that they are spread evenly.
            std::size_t best = turn_++ % levels_[factor];
            std::size_t most = gain(row, factor, best);
            for (std::size_t value = 0; value < levels_[factor]; ++value) {
                const std::size_t here = gain(row, factor, value);
                if (here <= most) continue;
                best = value;
                most = here;
            }
            row[factor] = best;
        }
    }

    void mark(const ValueIndexes& row) {
        for (std::size_t a = 0; a < row.size(); ++a) {
            for (std::size_t b = a + 1; b < row.size(); ++b) met_[a][b][row[a] * levels_[b] + row[b]] = true;
        }
    }

    const std::vector<std::size_t>& levels_;
    std::vector<std::vector<std::vector<bool>>> met_;  // by two factors, then value × value
    std::size_t turn_ = 0;
};

}  // namespace

std::vector<ValueIndexes> pairwise(const std::vector<std::size_t>& levels) {
    CHECK(std::find(levels.begin(), levels.end(), std::size_t{0}) == levels.end());
    if (levels.size() == 1) {
        std::vector<ValueIndexes> rows;
        for (std::size_t value = 0; value < levels.front(); ++value) rows.push_back({value});
        return rows;
    }
    return Covering(levels).rows();
}

// Swarm testing (Groce and others, 2012): leaving out kinds at random finds more than always using all of
// them.

namespace {

using scenarios::Draw;
using scenarios::Plan;
using scenarios::Trigger;

template <class T>
const T& one_of(const std::vector<T>& all, const Draw& draw, std::uint64_t n = 0) {
    return all[draw.below(n, all.size())];
}

bool holds(const std::vector<std::string>& all, const std::string& one) {
    return all.empty() || std::find(all.begin(), all.end(), one) != all.end();
}

class Drawing {
public:
    Drawing(std::uint64_t seed, const SwarmWords& words, const Coverage& coverage)
        : seed_(seed), words_(words), coverage_(coverage) {}

    Drawn drawn() {
        choose_workload();
        choose_cluster();
        choose_degrees();
        const std::size_t count = fault_count();
        const std::vector<Stocked> today = kinds_of_today();
        for (std::size_t i = 0; i < count && !today.empty(); ++i) add_fault(today, i);
        return std::move(result_);
    }

private:
    Draw draw(const std::string& purpose) const { return Draw(seed_, "swarm", purpose); }
    Plan& plan() { return result_.plan; }

    void choose_workload() {
        std::vector<std::string> names;
        for (const auto& kind : words_.words->workloads) {
            const bool written = kind.own_words;  // by a scenario alone
            if (!written && holds(words_.workloads, kind.name)) names.push_back(kind.name);
        }
        auto usual = usual_plan(one_of(names, draw("workload")), *words_.words);
        CHECK(usual.has_value());
        plan() = std::move(*usual);
        plan().seed.number = seed_;
        plan().scenario = "found/swarm";
        set("steps", draw("steps").between(0, 4, 16));
        if (draw("checkpoints").below(0, 2) == 0)
            set("checkpoint_every", draw("checkpoints").between(1, 2, 4));
        if (draw("micro").below(0, 3) == 0) set("micro_batches", draw("micro").between(1, 1, 4) * 2);
        for (const auto& [name, value] : words_.settings) plan().workload[name] = value;
    }

    void set(const std::string& name, std::int64_t number) {
        const auto found = plan().workload.find(name);
        if (found != plan().workload.end()) found->second.number = number;
    }

    void choose_cluster() {
        std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
        for (std::int64_t nodes = 1; nodes <= 4; ++nodes) {
            for (const std::int64_t gpus : {1, 2, 4, 8}) {
                if (nodes * gpus >= 2 && nodes * gpus <= words_.ranks_most) shapes.emplace_back(nodes, gpus);
            }
        }
        if (words_.ranks_most > 32) shapes = {{words_.ranks_most / 8, 8}};
        const auto [nodes, gpus] = one_of(shapes, draw("shape"));
        plan().cluster["nodes"].number = nodes;
        plan().cluster["gpus_per_node"].number = gpus;
        plan().cluster["watchdog"].number = draw("watchdog").below(0, 3) == 0 ? 0 : 1;
        if (!words_.words->workload(plan().workload_kind)->launcher.empty()) return;
        const std::vector<std::string> launchers = {"torchrun", "torchrun", "bare", "mpirun"};
        plan().cluster["launcher"].text = one_of(launchers, draw("launcher"));
        plan().cluster["restarts_max"].number = draw("restarts").below(0, 4) == 0 ? 1 : 0;
    }

    // Each degree in turn is a divisor of the remaining ranks.
    void choose_degrees() {
        std::int64_t left = plan().world_size();
        for (auto& [name, value] : plan().workload) {
            const bool degree = name.size() == 7 && name.ends_with("p_size");
            if (!degree || value.type != scenarios::ValueType::integer) continue;
            std::vector<std::int64_t> divisors;
            for (std::int64_t size = 1; size <= left; ++size) {
                if (left % size == 0) divisors.push_back(size);
            }
            value.number = one_of(divisors, draw("degree." + name));
            left /= value.number;
        }
    }

    // One in eight is a healthy job; many faults at once are rare, because they mask each other.
    std::size_t fault_count() const {
        const std::uint64_t chance = draw("count").below(0, 8);
        if (chance == 0 || words_.faults_most == 0) return 0;
        if (chance <= 5 || words_.faults_most == 1) return 1;
        return 1 + draw("count").below(1, words_.faults_most);
    }

    std::vector<Stocked> kinds_of_today() const {
        const auto* workload = words_.words->workload(result_.plan.workload_kind);
        std::vector<Stocked> today, all;
        for (Stocked& stocked : stock_of(*words_.words, *workload).faults) {
            if (!holds(words_.kinds, stocked.fault.kind)) continue;
            all.push_back(stocked);
            if (draw("kinds").at(all.size()) % 2 == 0) today.push_back(std::move(stocked));
        }
        return today.empty() ? all : today;
    }

    std::vector<CoverageCell> cells_of(const Stocked& stocked) const {
        std::vector<CoverageCell> cells;
        for (const std::string_view phase : phases) {
            if ((phase == "start") != stocked.at_start) continue;
            for (const std::string_view role : roles) {
                if ((role == "job") != (stocked.aim == Aim::job)) continue;
                if (!ranks_with(role).empty() || role == "job")
                    cells.push_back({stocked.label, std::string(phase), std::string(role)});
            }
        }
        return cells;
    }

    std::vector<std::int64_t> ranks_with(std::string_view role) const {
        std::vector<std::int64_t> ranks;
        const Plan& plan = result_.plan;
        const std::int64_t all = plan.world_size(), per_node = plan.number(plan.cluster, "gpus_per_node");
        for (std::int64_t rank = 0; rank < all; ++rank) {
            if (role_of(rank, all, per_node) == role) ranks.push_back(rank);
        }
        return ranks;
    }

    void add_fault(const std::vector<Stocked>& today, std::size_t index) {
        const std::string path = "fault." + std::to_string(index);
        // First the kind, then one of its cells, so that a kind with many cells is not drawn more often.
        const Stocked& stocked = today[draw(path).below(0, today.size())];
        const std::vector<CoverageCell> cells = cells_of(stocked);
        if (cells.empty()) return;
        const CoverageCell& cell = cells[coverage_.pick(cells, draw(path), 1)];
        const auto ranks = ranks_with(cell.role);
        const std::int64_t rank = ranks.empty() ? 0 : one_of(ranks, draw(path), 2);
        plan().faults.push_back(aimed(stocked, rank, moment(path, cell.phase), plan()));
        result_.cells.push_back(cell);
    }

    Trigger moment(const std::string& path, const std::string& phase) {
        Trigger when;
        const auto steps = plan().workload.find("steps");
        const bool trains = steps != plan().workload.end();
        if (phase == "setup") {
            when.before = "comm_init";
        } else {
            if (trains) when.step = draw(path).between(3, 0, steps->second.number - 1);
            if (phase != "step") when.phase = phase;
        }
        if (draw(path).below(4, 4) == 0) when.lasts = draw(path).between(5, 1, 100) * 100'000'000;
        return when;
    }

    const std::uint64_t seed_;
    const SwarmWords& words_;
    const Coverage& coverage_;
    Drawn result_;
};

}  // namespace

Drawn draw_plan(std::uint64_t seed, const SwarmWords& words, const Coverage& coverage) {
    return Drawing(seed, words, coverage).drawn();
}

// Integer weights, so that every compiler draws the same.

namespace {

constexpr std::uint64_t enough_tries = 4;  // without an effect, before a cell counts as out of reach

std::uint64_t weight(const CoverageCount& count) {
    if (count.acted == 0 && count.drawn >= enough_tries) return 1;
    return 1 + 1000 / (1 + count.drawn);
}

}  // namespace

std::string_view role_of(std::int64_t rank, std::int64_t ranks, std::int64_t ranks_per_node) {
    if (rank < 0) return "job";
    if (rank == 0) return "first";
    if (rank == ranks - 1) return "last";
    return rank % ranks_per_node == 0 ? "leader" : "other";
}

void Coverage::note(const CoverageCell& cell, bool acted) {
    CoverageCount& count = cells_[cell];
    ++count.drawn;
    if (acted) ++count.acted;
}

CoverageCount Coverage::at(const CoverageCell& cell) const {
    const auto found = cells_.find(cell);
    return found == cells_.end() ? CoverageCount{} : found->second;
}

std::size_t Coverage::pick(const std::vector<CoverageCell>& cells, const scenarios::Draw& draw,
                           std::uint64_t n) const {
    CHECK(!cells.empty());
    std::uint64_t sum = 0;
    for (const CoverageCell& cell : cells) sum += weight(at(cell));
    std::uint64_t left = draw.below(n, sum);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::uint64_t here = weight(at(cells[i]));
        if (left < here) return i;
        left -= here;
    }
    return cells.size() - 1;
}

std::size_t Coverage::reached() const {
    return static_cast<std::size_t>(
        std::count_if(cells_.begin(), cells_.end(), [](const auto& cell) { return cell.second.acted > 0; }));
}

}  // namespace deadrank::runners::find
