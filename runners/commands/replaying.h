// runners/commands/replaying.h — From a token or a plan to the run it means, played again and compared.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/judging/judge.h"
#include "runners/line/library.h"
#include "runners/line/line.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

struct Wanted {
    scenarios::Plan plan;
    std::optional<scenarios::Plan> control;  // to be played as well, so that the verdict is the one of `run`
    std::string runner;
    bool explore_order = false;
    std::uint64_t trace_hash = 0;      // 0 = not known
    std::filesystem::path against;     // evidence of then; empty = none
    std::vector<std::string> changes;  // what is not as it was: then no hash can be asked for
    std::string build;                 // commit of then
};

// `file`: the token's scenario, where it lies in no catalog; empty = found by its id. Errors: usage (no
// token, no such scenario), bad_input (the plan's file).
scenarios::Result<Wanted> wanted_by_token(const Library& library, const std::string& text,
                                          const std::string& file = {});
scenarios::Result<Wanted> wanted_by_plan(const Library& library, const std::filesystem::path& file,
                                         const std::string& runner);

struct Replayed {
    enum Outcome { reproduced, differs, untold };
    Outcome outcome = untold;
    std::string says;
    std::string difference;  // the first event that differs; empty when there is none or it cannot be known
    std::uint64_t trace_hash = 0;
    std::uint64_t events = 0;
    std::string token;
    results::Judgement judgement;
    std::vector<std::string> notes;
    std::optional<Played> played;  // always there once it was played
};
std::string_view name_of(Replayed::Outcome outcome);

scenarios::Result<Replayed> play_again(const Library& library, const Wanted& wanted, std::atomic<bool>& stop);

}  // namespace deadrank::runners::commands
