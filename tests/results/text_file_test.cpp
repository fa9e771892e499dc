// tests/results/text_file_test.cpp — A file is written whole or not at all, and no name leads out of its
// directory.
#include "results/record/text_file.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "results/processes/private_directory.h"
#include "tests/support/shell.h"

namespace deadrank::results {
namespace {

namespace fs = std::filesystem;

TEST(WriteText, RefusesAFullDisk) { EXPECT_FALSE(write_text(std::string(10, 'x'), "/dev/full")); }

TEST(WriteText, WritesIntoAPipeAndDoesNotReplaceIt) {
    const auto directory = processes::PrivateDirectory::make();
    const fs::path pipe = directory->path() / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::fstream reader(pipe);  // for reading and writing: it does not wait
    ASSERT_TRUE(write_text("all\n", pipe));
    std::string line;
    EXPECT_TRUE(std::getline(reader, line));
    EXPECT_EQ(line, "all");
    EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(FileName, OfAStrangersNameIsOnePartOfAPath) {
    EXPECT_EQ(file_name_of("node-7.rack_2"), "node-7.rack_2");
    EXPECT_EQ(file_name_of("../../X"), "..%2F..%2FX");
    EXPECT_EQ(file_name_of(".."), "%2E%2E");
    EXPECT_EQ(file_name_of("."), "%2E");
    EXPECT_EQ(file_name_of(""), "%");
    EXPECT_EQ(file_name_of(std::string("a\0b\n", 4)), "a%00b%0A");
    EXPECT_NE(file_name_of("a/b"), file_name_of("a%2Fb")) << "two names, one file";
    EXPECT_LE(file_name_of(std::string(5000, 'x')).size(), 255u);
    EXPECT_NE(file_name_of(std::string(5000, 'x')), file_name_of(std::string(5001, 'x')));
    EXPECT_EQ(relative_path_of("data/loader"), fs::path("data/loader"));
    EXPECT_EQ(relative_path_of("/../etc//passwd"), fs::path("%2E%2E/etc/passwd"));
}

TEST(PathBelow, RefusesWhatLeadsOut) {
    EXPECT_EQ(path_below("/out", "nccl/a.log").value(), fs::path("/out/nccl/a.log"));
    EXPECT_EQ(path_below("/out", "a..b").value(), fs::path("/out/a..b"));
    for (const std::string& name :
         std::vector<std::string>{"../a", "nccl/../../a", "/etc/passwd", "", "..", std::string("a\0b", 3)})
        EXPECT_FALSE(path_below("/out", name)) << name;
}

// The program, with evidence from a stranger.
TEST(Emit, WritesNothingOutsideItsDirectory) {
    const auto place = processes::PrivateDirectory::make();
    const fs::path run = place->path() / "seen";
    const auto answer = tests::shell(
        "cd '" + place->path().string() +
        "' && export DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
        "/scenarios/catalog' D='" DEADRANK_BINARY_DIRECTORY
        "/deadrank'; $D run fault_tolerance/gpu_falls_off_the_bus --no-heal -q --out all; mkdir seen; "
        "sed 's|\"host\":\"node|\"host\":\"../../X|g' "
        "all/fault_tolerance/gpu_falls_off_the_bus/1/evidence.jsonl "
        "> seen/evidence.jsonl; rm -r all; $D score emit seen --as all --out deep/out");
    EXPECT_EQ(answer.code, 0) << answer.out;
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(place->path())) {
        if (!entry.is_regular_file() || entry.path().parent_path() == run) continue;
        EXPECT_TRUE(entry.path().string().starts_with((place->path() / "deep/out").string())) << entry.path();
        files += entry.path().filename().string().find("X") != std::string::npos;
    }
    EXPECT_GT(files, 0u) << "no file has the host's name: " << answer.out;
}

}  // namespace
}  // namespace deadrank::results
