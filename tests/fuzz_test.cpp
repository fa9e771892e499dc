// tests/fuzz_test.cpp — Goal: no file, however damaged, makes a reader crash, hang or break its promise: each
// fuzz target plays its corpus, and damaged copies of it. Under clang, tests/fuzz/night.py plays them for
// hours.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/model/chance.h"
#include "tests/fuzz/target.h"

namespace deadrank::fuzz {

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;
using scenarios::Draw;

const fs::path source = DEADRANK_SOURCE_DIRECTORY;

// All files below the place with this ending; the place itself, if it is a file.
void add_files(const fs::path& place, const std::string& ending, std::vector<fs::path>& files) {
    if (fs::is_regular_file(place)) files.push_back(place);
    if (!fs::is_directory(place)) return;
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
        if (entry.is_regular_file() && (ending.empty() || entry.path().extension() == ending))
            files.push_back(entry.path());
    }
}

std::vector<fs::path> corpus_of(const Target& target) {
    std::vector<fs::path> files;
    add_files(source / "tests/fuzz/corpus" / target.name, "", files);
    std::ifstream seeds(source / "tests/fuzz/seeds.txt");
    for (std::string line; std::getline(seeds, line);) {
        std::istringstream words(line);
        std::string name, place, ending;
        words >> name >> place >> ending;
        if (name == target.name) add_files(source / place, ending, files);
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A crash of the reader ends this program, so what it read is kept before. Returns whether it was accepted.
bool read_kept(const Target& target, const std::string& text) {
    const fs::path kept = DEADRANK_BINARY_DIRECTORY "/tests/fuzz-" + std::string(target.name);
    std::ofstream(kept, std::ios::binary) << text;
    const bool accepted = target.read(text);
    fs::remove(kept);
    return accepted;
}

class FuzzCorpus : public testing::TestWithParam<Target> {};
class SlowFuzz : public testing::TestWithParam<Target> {};

std::string name_of_target(const testing::TestParamInfo<Target>& info) {
    return std::string(info.param.name);
}

TEST_P(FuzzCorpus, BreaksNoPromise) {
    int accepted = 0;
    for (const fs::path& file : corpus_of(GetParam())) accepted += read_kept(GetParam(), bytes_of(file));
    EXPECT_GT(accepted, 0) << "nothing beyond the refusals is tried: add a file to tests/fuzz/corpus/"
                           << GetParam().name;
}
INSTANTIATE_TEST_SUITE_P(Readers, FuzzCorpus, testing::ValuesIn(targets()), name_of_target);

// One damage: a byte, a piece cut out, doubled or taken from elsewhere, a word that means something to a
// reader.
std::string damaged(std::string text, const Draw& draw, std::uint64_t n,
                    const std::vector<std::string>& files) {
    static const std::vector<std::string> words = {
        "\"",        "[",        "]",           "{",        "}",
        "=",         "\n",       ":",           "- ",       "(",
        ")",         "#",        "-1",          "0",        "9223372036854775807",
        "\"any 2\"", "\"1..2\"", "nan",         "1e400",    "\xff",
        "'''",       "\x1b[31m", "[[fault]]\n", "[heal]\n", "null",
        "{}",        "[]",       "1979-05-27",  "true",     "[[[]]]"};
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
            return text.insert(from, other, draw.below(n * 8 + 6, other.size() + 1), length);
        }
        default:
            if (from < text.size()) text[from] = static_cast<char>(draw.below(n * 8 + 7, 256));
            return text;
    }
}

TEST_P(SlowFuzz, DamagedFilesBreakNoPromise) {
    std::vector<std::string> files;
    for (const fs::path& file : corpus_of(GetParam())) files.push_back(bytes_of(file));
    ASSERT_FALSE(files.empty());
    const int rounds = 500;
    int accepted = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Draw draw(round, "fuzz", "damage");
        std::string text = files[draw.below(0, files.size())];
        const std::uint64_t wounds = 1 + draw.below(1, 4);
        for (std::uint64_t wound = 1; wound <= wounds; ++wound)
            text = damaged(std::move(text), draw, wound, files);
        accepted += read_kept(GetParam(), text);
    }
    RecordProperty("accepted", accepted);
    EXPECT_GT(accepted, rounds / 100) << "the damage is so heavy that nothing beyond the parser is tried";
}
INSTANTIATE_TEST_SUITE_P(Readers, SlowFuzz, testing::ValuesIn(targets()), name_of_target);

// A reader without a target is one that nobody fuzzes; a target that is not linked plays nothing.
TEST(FuzzTargets, AreAllLinked) {
    std::vector<std::string> linked, written;
    for (const Target& target : targets()) linked.push_back(std::string(target.name) + "_fuzz.cpp");
    for (const auto& entry : fs::directory_iterator(source / "tests/fuzz")) {
        if (entry.path().filename().string().ends_with("_fuzz.cpp"))
            written.push_back(entry.path().filename().string());
    }
    std::sort(linked.begin(), linked.end());
    std::sort(written.begin(), written.end());
    EXPECT_EQ(linked, written);
}

}  // namespace
}  // namespace deadrank::fuzz
