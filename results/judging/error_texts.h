// results/judging/error_texts.h — What a job said of its own trouble: error lines, library errors, the
// launcher's last word.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results {

struct ErrorText {
    Time at;
    Rank rank;  // whose text it is; no_rank = the launcher's
    std::string text;
};

std::vector<ErrorText> error_texts(const Evidence& evidence);  // in order of time

// `word` in `text`, but not inside a longer word or number: "rank 1" is not in "rank 12". Both in lower case.
bool contains_word(const std::string& text, const std::string& word);
// As `says`, but not inside a path or a module name: "torch.distributed.DistStoreError" does not name torch.
bool names_part(const std::string& text, const std::string& part);
bool names_rank(const std::string& text, Rank rank);

// A watchdog or a broken connection reports trouble of other ranks: the rank that prints it is a victim, not
// named as the culprit.
bool mentions_other_ranks(const std::string& text);

}  // namespace deadrank::results
