// inject/shims/core/rank.cpp — The first variable that holds a whole number wins.
#include "inject/shims/core/rank.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace deadrank::inject::shims {

results::Rank rank_of_process() {
    for (const char* name : {"DEADRANK_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
        const char* value = std::getenv(name);
        if (!value) continue;
        const std::string_view text(value);
        results::Rank rank = results::no_rank;
        const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), rank);
        if (trouble == std::errc() && end == text.data() + text.size() && rank >= 0) return rank;
    }
    return results::no_rank;
}

}  // namespace deadrank::inject::shims
