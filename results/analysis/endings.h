// results/analysis/endings.h — How a job ended: whether its ranks agreed to stop before the configured steps
// were done; and which ranks destroy their groups.
#pragma once

#include <vector>

#include "results/analysis/lives.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// All ranks that call others left with success in the middle of one and the same step, right after they had
// met in a call, or had exchanged a flag or saved in the step before: they agreed to stop early. Data that
// ends does so between steps, and whoever leaves alone, or in another step, asked nobody.
bool has_agreed_stop(const Evidence& evidence);

// Ranks in torch's destroy_process_group, which waits for their own calls and for the other members on the
// node. Known by the lines that torch logs before and after it.
struct Teardown {
    Rank process = no_rank;
    int attempt = 0;
    CommId comm = 0;
    Time entered{0};
    Time left = never;

    bool open_at(Time time) const { return entered <= time && left > time; }
};

class Teardowns {
public:
    explicit Teardowns(const Evidence& evidence);

    const std::vector<Teardown>& all() const { return all_; }  // in the order of their beginnings

private:
    std::vector<Teardown> all_;
};

}  // namespace deadrank::results::analysis
