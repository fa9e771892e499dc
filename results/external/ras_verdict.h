// results/external/ras_verdict.h — What an answer of NCCL's RAS says about the job, read as an operator reads
// it: who lags behind in launches, who does not answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/emitters/ras.h"
#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct RasTrouble {
    enum class Kind { missing, lagging, error };
    Kind kind = Kind::missing;
    emitters::RasRank who;
    std::int64_t launched = 0, others = 0;  // operations, where it lags
    std::string says;
};

// Errors: bad_input, when it is no status of RAS in JSON.
scenarios::Result<emitters::RasReport> read_ras_json(std::string_view text);
std::vector<RasTrouble> troubles_in(const emitters::RasReport& report);

}  // namespace deadrank::results::external
