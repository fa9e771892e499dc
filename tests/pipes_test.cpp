// tests/pipes_test.cpp — Goal: no command waits for ever for a file that it is named: a named pipe into which
// nobody writes is refused, wherever a file may stand.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "results/processes/private_directory.h"
#include "scenarios/model/document.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

class NamedPipe : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(place_);
        ASSERT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
    }

    const scenarios::Result<results::processes::PrivateDirectory> place_ =
        results::processes::PrivateDirectory::make();
    const fs::path pipe_ = place_->path() / "pipe.toml";
};

TEST_F(NamedPipe, IsReadOnceSomebodyWrites) {
    std::thread writer([&] { std::ofstream(pipe_) << "written"; });
    const auto text = scenarios::read_text(pipe_);
    writer.join();
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_EQ(*text, "written");
}

TEST_F(NamedPipe, IsRefusedByEveryCommandWhereNobodyWrites) {
    const std::string rules = DEADRANK_SOURCE_DIRECTORY "/tests/alerts/rules/correct.yml";
    for (const std::string& line :
         {std::string("run {0}"), std::string("replay {0}"), std::string("replay plan {0}"),
          std::string("judge {0}"), std::string("alerts {0}"), "alerts --map {0} " + rules,
          "alerts --policy {0} " + rules, "alerts --alertmanager {0} " + rules,
          "alerts --profile {0} " + rules, std::string("alerts storm {0}"),
          std::string("doctor --from {0}")}) {
        const Answer answer = shell("timeout 60 '" DEADRANK_BINARY_DIRECTORY "/deadrank' " +
                                    fmt::format(fmt::runtime(line), "'" + pipe_.string() + "'"));
        EXPECT_EQ(answer.code, 64) << line << " (124: it waited)\n" << answer.out;
    }
}

}  // namespace
}  // namespace deadrank::tests
