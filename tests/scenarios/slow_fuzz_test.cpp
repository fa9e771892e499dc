// tests/scenarios/slow_fuzz_test.cpp — Goal: no file, however damaged, makes the readers crash, hang or
// accept what does not resolve or read back.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "runners/backend/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/chance.h"
#include "scenarios/model/document.h"
#include "tests/fuzz/scenario_fuzz.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::Draw;

std::vector<std::string> corpus() {
    std::vector<std::string> files = {SampleFile{}.toml(), scenarios::to_toml(resolve_sample({})->fault)};
    const std::filesystem::path catalog = DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog";
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(catalog)) {
        if (entry.path().extension() == ".toml") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) files.push_back(scenarios::read_text(path).value());
    return files;
}

// One damage: a byte, a piece cut out, doubled or taken from elsewhere, a word that means something here.
std::string damaged(std::string text, const Draw& draw, std::uint64_t n,
                    const std::vector<std::string>& files) {
    static const std::vector<std::string> words = {"\"",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   "=",
                                                   "\n",
                                                   "#",
                                                   "-1",
                                                   "0",
                                                   "9223372036854775807",
                                                   "\"any 2\"",
                                                   "\"1..2\"",
                                                   "nan",
                                                   "1e400",
                                                   "\xff",
                                                   "'''",
                                                   "[[fault]]\n",
                                                   "[heal]\n",
                                                   "\"others\"",
                                                   "1979-05-27",
                                                   "true",
                                                   "[[[]]]",
                                                   "kind = \"kill_rank\"\n"};
    const auto place = [&](std::uint64_t k) {
        return static_cast<std::size_t>(draw.below(n * 8 + k, text.size() + 1));
    };
    const std::size_t from = place(0);
    const std::size_t length = static_cast<std::size_t>(draw.below(n * 8 + 1, 40));
    switch (draw.below(n * 8 + 2, 5)) {
        case 0:
            return text.erase(from, length);
        case 1:
            return text.insert(from, text.substr(place(3), length));
        case 2:
            return text.replace(from, std::min<std::size_t>(length, text.size() - from),
                                words[draw.below(n * 8 + 4, words.size())]);
        case 3: {
            const std::string& other = files[draw.below(n * 8 + 5, files.size())];
            return text.insert(from, other.substr(draw.below(n * 8 + 6, other.size()), length));
        }
        default:
            if (from < text.size()) text[from] = static_cast<char>(draw.below(n * 8 + 7, 256));
            return text;
    }
}

TEST(SlowFuzzScenario, DamagedFilesAreRefusedOrMeanSomething) {
    const std::vector<std::string> files = corpus();
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    int loaded = 0;
    const int rounds = 10'000;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Draw draw(round, "fuzz", "damage");
        std::string text = files[draw.below(0, files.size())];
        const std::uint64_t wounds = 1 + draw.below(1, 4);
        for (std::uint64_t wound = 1; wound <= wounds; ++wound)
            text = damaged(std::move(text), draw, wound, files);
        loaded += fuzz::read_scenario(text, sample_taxonomy(), vocabulary);
    }
    RecordProperty("loaded", loaded);
    EXPECT_GT(loaded, rounds / 100) << "the damage is so heavy that nothing beyond the parser is tried";
    EXPECT_LT(loaded, rounds) << "no damage was ever noticed";
}

}  // namespace
}  // namespace deadrank::tests
