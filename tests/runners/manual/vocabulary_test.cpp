// tests/runners/manual/vocabulary_test.cpp — Goal: `explain` knows every word that any output prints: the
// names of all enumerations of outcomes, verdicts and marks, faults, failures and properties, and the terms
// of the docs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "results/alerts/report.h"
#include "results/alerts/verdict.h"
#include "results/diagnosis/incident_reading.h"
#include "results/diagnosis/operator_answer.h"
#include "results/exporters/signature.h"
#include "results/judging/judge.h"
#include "results/record/truth.h"
#include "runners/commands/know/explain_words.h"
#include "runners/explore/mutants.h"
#include "runners/explore/program_trials.h"
#include "runners/extension/extension.h"
#include "runners/find/properties.h"
#include "runners/find/sweep.h"
#include "runners/manual/output_words.h"
#include "runners/parity/parity.h"
#include "runners/pipeline/library.h"
#include "runners/promises/promise_verdict.h"
#include "scenarios/model/document.h"

namespace deadrank::runners {
namespace {

namespace alerts = results::alerts;

// What `name` prints of each value up to `last`.
template <class Enum, class Name>
void collect(std::set<std::string>& words, Enum last, Name name) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
        if (const std::string word(name(static_cast<Enum>(i))); !word.empty()) words.insert(word);
}

template <class Enum>
void collect(std::set<std::string>& words, Enum last) {
    collect(words, last, [](Enum value) { return name_of(value); });
}

std::set<std::string> printed_words() {
    std::set<std::string> words;
    collect(words, results::Verdict::fail);
    collect(words, results::Outcome::unjudged);
    collect(words, results::Reaction::not_checked);
    collect(words, results::MarkKind::unread);
    collect(words, results::diagnosis::IncidentOutcome::unknown);
    collect(words, alerts::AlertVerdict::unjudged);
    collect(words, alerts::Locality::nowhere);
    collect(words, alerts::DeadKind::nobody);
    collect(words, explore::Outcome::unknown);
    collect(words, explore::MutantOutcome::invalid);
    collect(words, find::Harm::hung);
    collect(words, find::Caught::untold);
    collect(words, find::Modality::sometimes);
    collect(words, Parity::not_played);
    collect(words, promises::Kept::unknown, [](promises::Kept kept) { return promises::id_of(kept); });
    collect(words, results::diagnosis::AnswerRow::read);
    collect(words, results::diagnosis::Certainty::low);
    for (int i = 0; i <= static_cast<int>(alerts::AlertVerdict::unjudged); ++i) {
        // "+2:30!" is a sign, a time and a sign: the signs before the time are the word.
        std::string code = alerts::cell_code({.verdict = static_cast<alerts::AlertVerdict>(i)});
        if (code.find('+') != code.npos) {
            if (std::isdigit(static_cast<unsigned char>(code.back())) == 0)
                words.insert(code.substr(code.size() - 1));
            code.resize(code.find('+') + 1);
        }
        words.insert(code);
    }
    return words;
}

class Vocabulary : public testing::Test {
protected:
    static void SetUpTestSuite() {
        auto opened = open_library("", extension, DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog");
        ASSERT_TRUE(opened) << opened.error().text();
        library = std::make_unique<Library>(std::move(*opened));
    }
    static void TearDownTestSuite() { library.reset(); }
    static void expect_explained(const std::string& word) {
        const auto explained = commands::explain_word(*library, word);
        EXPECT_TRUE(explained) << word << ": " << explained.error().text();
    }
    static inline const Extension extension;
    static inline std::unique_ptr<Library> library;
};

TEST_F(Vocabulary, ExplainsEveryWordOfEveryEnumerationThatIsPrinted) {
    const std::set<std::string> words = printed_words();
    EXPECT_GE(words.size(), 70u);
    for (const std::string& word : words) expect_explained(word);
}

// An explanation that nothing prints any more is stale.
TEST_F(Vocabulary, ExplainsNoVerdictThatNothingPrints) {
    const std::set<std::string> words = printed_words();
    const std::string mutations =
        scenarios::read_text(DEADRANK_SOURCE_DIRECTORY "/sim/managed/python/deadrank/mutations.py").value();
    for (const manual::OutputWord& one : manual::output_words()) {
        if (one.where.starts_with("mutation of")) {
            EXPECT_THAT(mutations, testing::HasSubstr("\"" + std::string(one.word) + "\""));
            continue;
        }
        if (one.where == "term" || one.word == "silent") continue;  // silent: where no detector rang
        EXPECT_TRUE(
            std::any_of(words.begin(), words.end(),
                        [&](const std::string& word) { return manual::is_same_word(word, one.word); }))
            << one.where << ": " << one.word;
    }
}

TEST_F(Vocabulary, ExplainsFaultsFailuresPropertiesAndTerms) {
    for (const scenarios::Kind& fault : library->vocabulary.faults) expect_explained(fault.name);
    const auto failures =
        results::exporters::load_signatures(DEADRANK_SOURCE_DIRECTORY "/results/exporters/signatures");
    ASSERT_TRUE(failures) << failures.error().text();
    for (const std::string& id : failures->ids()) expect_explained(id);
    for (const find::Property& property : find::all_properties()) expect_explained(property.name);
    for (const char* word : {"blind",
                             "control",
                             "evidence",
                             "finding",
                             "healed",
                             "plan",
                             "profiles",
                             "provokes",
                             "sure",
                             "next",
                             "n/j",
                             "backg",
                             "seed",
                             "token",
                             "trace",
                             "truth",
                             "wrong place",
                             "map",
                             "policy",
                             "profile",
                             "name map",
                             "~",
                             "?",
                             "!",
                             "dcgm-default",
                             "dcgm-full",
                             "dcgm-kubernetes",
                             "dcgm-1x",
                             "kubernetes"})
        expect_explained(word);
}

TEST_F(Vocabulary, SuggestsTheNearestPrintedWord) {
    const auto refused = commands::explain_word(*library, "wrong_clas");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().remedy, testing::HasSubstr("wrong_class"));
}

}  // namespace
}  // namespace deadrank::runners
