// results/judging/error_texts.h — What a job said of its own trouble: error lines, library errors, the
// launcher's last word.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results {

struct ErrorText {
    Time at;
    Rank rank;  // whose words they are; no_rank = the launcher's
    std::string text;
};

std::vector<ErrorText> error_texts(const Evidence& evidence);  // in order of time

// `word` in `text`, not as a part of a longer word or number: "rank 1" is not in "rank 12". Both in lower
// case.
bool says(const std::string& text, const std::string& word);
// As `says`, but not as a piece of a path or of a module's name: "torch.distributed.DistStoreError" does not
// say that it was torch.
bool names_part(const std::string& text, const std::string& part);
bool names_rank(const std::string& text, Rank rank);

// A watchdog or a broken connection tells of somebody else's trouble: its own rank is a victim, not named by
// it.
bool tells_of_others(const std::string& text);

}  // namespace deadrank::results
