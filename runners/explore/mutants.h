// runners/explore/mutants.h — Mutants of a program under its own tests: one call at one line that is bent, and whether
// a test fails because of it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::runners::explore {

// A call of the program, at the line of its innermost frame.
struct CallSite {
    std::string file;
    std::int64_t line = 0;
    std::string call;  // "all_reduce", "Optimizer.load_state_dict"
    auto operator<=>(const CallSite&) const = default;
};

// What one test did in a healthy run.
struct RecordedTest {
    bool passed = false;
    std::map<CallSite, std::set<std::string>> reached;  // with the mutations that could bend the call
    std::map<CallSite, std::string> values;  // JSON list: what rank 0 had in each of these calls, such as seeds
    std::vector<std::string> files;          // of the program and of the test
    std::vector<std::string> test_files;     // in which tests are written
};
using RecordedTests = std::map<std::string, RecordedTest>;

enum class MutantOutcome {
    killed,       // a test fails
    timed_out,    // a test hangs, in virtual time, and none fails otherwise
    survived,     // values changed and every test passes
    equivalent,   // the call was bent and no value changed
    not_reached,  // no test executes the call
    invalid,      // it could not be played, or a test failed although nothing had changed
};
std::string_view name_of(MutantOutcome);
bool counts(MutantOutcome);  // toward the share of mutants that are noticed

// How one test took a mutant.
struct MutantRun {
    std::string test;
    bool executed = false, changed = false, fails = false, hangs = false;
    std::string trouble;  // why it says nothing
};

struct Mutant {
    CallSite site;
    std::string mutation;            // empty: a call that no test executes
    std::vector<std::string> tests;  // that execute the call, by name
    std::vector<MutantRun> runs;

    MutantOutcome outcome() const;
    std::vector<std::string> killers() const;
    std::string says() const;  // "contribution_left_out of all_reduce"
};

struct MutantChoice {
    std::set<std::string> mutations;  // empty: all
    std::string sites;                // a pattern with * and ? for "call file:line"; empty: all
    bool in_tests = false;            // also calls in the files of the tests themselves
    std::size_t limit = 0;            // 0: all
    std::uint64_t seed = 1;           // decides which ones, where there are more
};

// In order of file, line, call and mutation. Tests that fail anyway can notice nothing, and are left out.
std::vector<Mutant> mutants_of(const RecordedTests& tests, const MutantChoice& choice);
bool matches(const CallSite& site, const std::string& pattern);
std::set<std::string> test_files_of(const RecordedTests& tests);

}  // namespace deadrank::runners::explore
