// tests/runners/commands/new_command_test.cpp — Goal: `deadrank new` writes into the working directory, and
// never into the catalogue that belongs to an installed program.
#include <filesystem>
#include <gtest/gtest.h>

#include "results/processes/private_directory.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

TEST(NewCommand, WritesIntoTheWorkingDirectory) {
    const auto place = results::processes::PrivateDirectory::make();
    ASSERT_TRUE(place);
    const fs::path shipped = DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog/communication/my_bug.toml";
    const Answer made = shell("cd '" + place->path().string() +
                              "' && env -u DEADRANK_CATALOG '" DEADRANK_BINARY_DIRECTORY
                              "/deadrank' new communication/my_bug");
    EXPECT_EQ(made.code, 0) << made.out;
    EXPECT_FALSE(fs::exists(shipped));
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(place->path()))
        files += entry.path().filename() == "my_bug.toml";
    EXPECT_EQ(files, 1u) << made.out;
}

}  // namespace
}  // namespace deadrank::tests
