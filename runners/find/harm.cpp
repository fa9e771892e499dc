// runners/find/harm.cpp — The job's own reaction, and beside it how much longer it took.
#include "runners/find/harm.h"

#include <array>

#include "results/judging/reaction.h"

namespace deadrank::runners::find {

namespace {

constexpr std::array<std::string_view, 6> harm_names = {"none",   "slower",    "wrong_result",
                                                        "failed", "restarted", "hung"};
constexpr std::array<std::string_view, 6> texts = {
    "the job took no harm", "the job took longer",   "the job ended with another result",
    "the job failed",       "the job was restarted", "the job hung"};

bool took_longer(const Record& fault, const Record& control) {
    return fault.ended > control.ended + control.ended / 10;
}

}  // namespace

std::string_view name_of(Harm harm) { return harm_names.at(static_cast<std::size_t>(harm)); }
std::string_view text_of(Harm harm) { return texts.at(static_cast<std::size_t>(harm)); }

Harm harm_of(const Record& fault, const Record& control) {
    switch (results::grade(fault, &control.evidence).reaction) {
        case results::Reaction::completed:
        case results::Reaction::warned_and_completed:
            return took_longer(fault, control) ? Harm::slower : Harm::none;
        case results::Reaction::silent_wrong_result:
            return Harm::wrong_result;
        case results::Reaction::restarted:
            return Harm::restarted;
        case results::Reaction::hung:
            return Harm::hung;
        default:
            return Harm::failed;
    }
}

}  // namespace deadrank::runners::find
