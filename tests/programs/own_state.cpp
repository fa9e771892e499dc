// tests/programs/own_state.cpp — Gives each test program a state directory of its own: what a killed run of
// this user has left to undo must not stand in the way of a test, nor the other way round.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

class OwnState : public testing::Environment {
public:
    void SetUp() override {
        ::unsetenv("DEADRANK_STATE");
        ::setenv("XDG_STATE_HOME", place_.c_str(), 1);  // created by whoever writes there
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(place_, ignored);
    }

private:
    fs::path place_ = fs::temp_directory_path() / fmt::format("deadrank-tests-state-{}", getpid());
};

[[maybe_unused]] const testing::Environment* own_state = testing::AddGlobalTestEnvironment(new OwnState);

}  // namespace
}  // namespace deadrank::tests
