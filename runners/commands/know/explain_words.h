// runners/commands/know/explain_words.h — What each kind of word means, as rows of label and text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/reports/style.h"
#include "runners/pipeline/library.h"

namespace deadrank::runners::commands {

struct Explanation {
    std::string what;  // "scenario", "fault", "workload", "detector", "symptom", …
    std::string id;
    std::string says;
    std::vector<std::pair<std::string, std::string>> rows;
};

// Every meaning of the word. Error: usage, with the nearest known word.
scenarios::Result<std::vector<Explanation>> explain_word(const Library& library, const std::string& word);

Explanation explain_scenario(const scenarios::Scenario& scenario);
Explanation explain_kind(const std::string& what, const scenarios::Kind& kind);

void add_row(Explanation& explanation, std::string label, std::string text);  // adds none for an empty text
std::string joined(const std::vector<std::string>& words);                    // "one, two"

std::string text_of(const Explanation& explanation, const results::reports::Style& style);

}  // namespace deadrank::runners::commands
