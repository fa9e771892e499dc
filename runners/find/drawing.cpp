// runners/find/drawing.cpp — Swarm testing (Groce and others, 2012): leaving kinds out at random finds more
// than using all of them all the time.
#include "runners/find/drawing.h"

#include <algorithm>

#include "runners/find/base.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find {

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
            if (holds(words_.workloads, kind.name)) names.push_back(kind.name);
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
        const auto [nodes, gpus] = one_of(shapes, draw("shape"));
        plan().cluster["nodes"].number = nodes;
        plan().cluster["gpus_per_node"].number = gpus;
        const std::vector<std::string> launchers = {"torchrun", "torchrun", "bare", "mpirun"};
        plan().cluster["launcher"].text = one_of(launchers, draw("launcher"));
        plan().cluster["watchdog"].number = draw("watchdog").below(0, 3) == 0 ? 0 : 1;
        plan().cluster["restarts_max"].number = draw("restarts").below(0, 4) == 0 ? 1 : 0;
    }

    // Divisors of the ranks, one degree after the other.
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

    // One in eight is a healthy job; many faults at once are rare, for they hide each other.
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
        // Kind first, over all of its cells, then the cell: a kind with many cells is not drawn more often.
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

}  // namespace deadrank::runners::find
