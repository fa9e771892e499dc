// results/judging/weigh_words.h — Of a job that ended with an error: do its words lead to the cause?
#pragma once

#include "results/judging/resilience.h"

namespace deadrank::results {

// clear_error, misleading_error or wrong_rank, with the words that decided; `took` is left open.
Resilience weigh_words(const Stood& stood);

}  // namespace deadrank::results
