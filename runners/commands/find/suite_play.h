// runners/commands/find/suite_play.h — The server that a suite's test runner asks for ranks while `deadrank test`
// runs: plays each test on managed ranks, once more with faults, and with mutants of the program.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/explore/mutants.h"
#include "runners/explore/program_trials.h"
#include "runners/extension/extension.h"
#include "runners/pipeline/library.h"
#include "runners/serve/http.h"

namespace deadrank::runners::commands {

// A test that was played once more with a fault.
struct FaultedTest {
    std::string test, line, says;
    explore::Outcome outcome = explore::Outcome::unknown;
};

// A test whose ranks are not simulated, and why.
struct UnmanagedTest {
    std::string test, why;
};

struct SuiteSettings {
    std::vector<std::string> faults;
    std::uint64_t seed = 1;
    std::map<std::string, std::string> gpu_variables;
    std::filesystem::path package;  // with the Python package `deadrank`
    bool recording = false;         // calls that mutations could bend are noted
    bool first_only = false;        // a mutant that a test has killed is played no more
    std::chrono::seconds mutant_limit{60};  // real time in which a rank of a mutant must ask or answer
    std::function<void(std::size_t runs, std::size_t survivors)> progress = {};
};

class Suite {
public:
    Suite(SuiteSettings settings, const Library& library, const Extension& extension);

    // Thread-safe: a suite may run several tests at once.
    serve::HttpResponse answer(const serve::HttpRequest& request);

    const std::string& token() const { return token_; }
    std::size_t played() const { return played_.size(); }  // tests
    const std::vector<FaultedTest>& faulted() const { return faulted_; }
    const std::vector<UnmanagedTest>& unmanaged() const { return unmanaged_; }
    std::size_t not_played() const { return not_played_; }   // starts of ranks that failed on this machine
    const std::string& trouble() const { return trouble_; }  // of the first of them

    // From the recording on, each test is answered as it was recorded, after these mutants of it were played.
    const explore::RecordedTests& recorded() const { return recorded_; }
    void begin_mutants(std::vector<explore::Mutant> mutants);
    const std::vector<explore::Mutant>& mutants() const { return mutants_; }
    std::string python() const { return python_; }        // of the suite
    std::string directory() const { return directory_; }  // in which it runs

private:
    struct Play;

    nlohmann::json play(const nlohmann::json& request);
    nlohmann::json play_healthy(nlohmann::json request, const std::string& name);
    void play_mutants(const nlohmann::json& request, const std::string& name);
    explore::MutantRun play_mutant(nlohmann::json request, const explore::Mutant& mutant, const std::string& name);
    void play_with(const std::string& fault, const std::string& test, const std::shared_ptr<const Played>& healthy,
                   Runner& runner);
    ManagedSettings settings_of(const nlohmann::json& request, const std::filesystem::path& file);
    std::string name_of(const nlohmann::json& request);
    void keep(FaultedTest one);
    void keep_recorded(const std::string& name, const Play& play, bool passed, results::Time ended);

    const SuiteSettings settings_;
    const Library& library_;
    const Extension& extension_;
    const std::shared_ptr<WarmPython> warm_;
    const std::string token_;
    std::mutex mutex_;
    std::map<std::string, std::string> first_environment_;
    std::map<std::string, std::size_t> times_;  // that a test has asked for ranks in this run of the suite
    std::set<std::string> played_;  // a test may start ranks several times
    std::size_t mutant_runs_ = 0;
    std::vector<FaultedTest> faulted_;
    std::size_t not_played_ = 0;
    std::string trouble_;
    std::vector<UnmanagedTest> unmanaged_;
    explore::RecordedTests recorded_;
    std::map<std::string, std::string> replies_;  // JSON, of recorded tests
    std::map<std::string, results::Time> ended_;     // and when they did
    std::vector<explore::Mutant> mutants_;
    bool mutating_ = false;
    std::string python_, directory_;
};

}  // namespace deadrank::runners::commands
