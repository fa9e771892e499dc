// results/judging/weigh_words.h — If a job ended with an error, do its words lead to the cause?
#pragma once

#include <string>

#include "results/judging/reaction.h"

namespace deadrank::results {

struct Words {
    Reaction reaction = Reaction::misleading_error;  // clear_error, misleading_error or wrong_rank
    std::string says;                                // the words that decided, or the last ones
};

Words weigh_words(const Reacting& job);

}  // namespace deadrank::results
