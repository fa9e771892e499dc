// tests/mutation/main.cpp — deadrank_mutants: how many changes of the detectors' logic the catalogue and the
// hand-made evidence find out. The catalogue is played once; then each mutant gets a process of its own,
// which asks the changed detectors anew. One that crashes or hangs is found out as well.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "results/detectors/detector.h"
#include "results/record/sources.h"
#include "scenarios/format/plan_file.h"
#include "tests/mutation/turned.h"
#include "tests/support/catalog.h"

namespace deadrank::mutation {
namespace {

using results::Finding;

struct Mutant {
    std::string_view file;
    int line;
    std::string_view kind, what;
};
constexpr Mutant mutants[] = {
#include "mutants.inc"
};

enum class Fate : char { survived, scenario, healthy, by_hand, crashed };
constexpr std::string_view fates[] = {"SURVIVED", "scenario", "healthy run", "hand-made evidence",
                                      "crash or hang"};

// One run under seed 1, and what each detector said of it by itself.
struct Run {
    scenarios::Plan plan;
    runners::Record record;
    const results::Evidence* control = nullptr;  // of a faulty run
    std::vector<results::Findings> said;
    results::Verdict usual = results::Verdict::pass;
};

class Mutation {
public:
    Mutation() {
        const tests::ShippedCatalog catalog;
        runners::SimRunner sim;
        runs_.reserve(3 * catalog.scenarios.size());
        for (const scenarios::Scenario& scenario : catalog.scenarios) {
            const auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
            if (!trial) throw std::runtime_error(scenario.id + ": " + trial.error().text());
            const auto add = [&](const scenarios::Plan& plan) -> const Run& {
                return runs_.emplace_back(Run{plan, std::move(*sim.run(plan, {})), nullptr, {}});
            };
            const Run& control = add(trial->control);
            add(trial->healed);
            add(trial->fault);
            runs_.back().control = &control.record.evidence;
        }
    }

    // Mutants of facts and of settle() concern all detectors, and facts that were worked out are kept: they
    // are tried before anything was asked. Mutants of one detector leave what the others said as it was.
    std::vector<Fate> try_all(const std::vector<int>& chosen) {
        std::vector<Fate> found(std::size(mutants), Fate::survived);
        const auto concerns_all = [&](int number) { return detectors_in(mutants[number].file).empty(); };
        std::vector<int> general, own;
        for (const int number : chosen) (concerns_all(number) ? general : own).push_back(number);
        try_in_processes(general, found);
        const results::Detectors detectors = results::all_detectors();
        for (Run& run : runs_) {
            for (const auto& detector : detectors) run.said.push_back(detector->examine(run.record.evidence));
            run.usual = verdict_of(run, run.said);
        }
        try_in_processes(own, found);
        return found;
    }

private:
    static std::vector<std::size_t> detectors_in(std::string_view file) {
        std::string name(file.substr(file.rfind('/') + 1));
        name.resize(name.size() - std::string_view(".cpp").size());
        if (name == "resharding") name = "reshard";
        const auto& rows = results::detector_catalog();
        std::vector<std::size_t> places;
        for (std::size_t place = 0; place < rows.size(); ++place)
            if (rows[place]->name == name) places.push_back(place);
        // Some detectors ask these as well.
        for (const std::string_view shared :
             {"collective_hang", "collective_mismatch", "collective_timeout", "setup_failure", "setup_hang",
              "shard_mismatch", "sample_coverage"})
            if (name == shared) return {};
        return places;
    }

    static results::Verdict verdict_of(const Run& run, const std::vector<results::Findings>& said) {
        std::vector<Finding> all;
        for (const results::Findings& one : said) all.insert(all.end(), one.begin(), one.end());
        return results::judge(run.plan, run.record, results::settle(std::move(all)), run.control).verdict;
    }

    Fate fate_in_the_catalogue(const std::vector<std::size_t>& places) {
        const results::Detectors detectors = results::all_detectors();
        for (Run& run : runs_) {
            std::vector<results::Findings> said = run.said;
            if (places.empty()) {
                const auto fresh = results::limited_to(run.record.evidence, results::Source::asserted);
                said.clear();
                for (const auto& detector : detectors) said.push_back(detector->examine(fresh));
            }
            for (const std::size_t place : places)
                said[place] = detectors[place]->examine(run.record.evidence);
            if (verdict_of(run, said) != run.usual) return run.control ? Fate::scenario : Fate::healthy;
        }
        return Fate::survived;
    }

    // The tests in tests/results/detectors and those of settle(), by the file in which they stand.
    static std::string tests_by_hand() {
        std::string filter;
        const auto& all = *testing::UnitTest::GetInstance();
        for (int i = 0; i < all.total_test_suite_count(); ++i) {
            const testing::TestSuite& suite = *all.GetTestSuite(i);
            const std::string_view file = suite.GetTestInfo(0)->file();
            if (file.find("results/detectors/") != file.npos || file.find("settle_test") != file.npos)
                filter += fmt::format("{}.*:", suite.name());
        }
        return filter;
    }

    static bool found_out_by_hand() {
        testing::GTEST_FLAG(filter) = tests_by_hand();
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO), dup2(nowhere, STDERR_FILENO);
        return RUN_ALL_TESTS() != 0;
    }

    Fate fate_of(int number) {
        turned = number;
        const Fate fate = fate_in_the_catalogue(detectors_in(mutants[number].file));
        return fate == Fate::survived && found_out_by_hand() ? Fate::by_hand : fate;
    }

    void try_in_processes(const std::vector<int>& chosen, std::vector<Fate>& found) {
        constexpr unsigned at_once = 2;
        constexpr rlimit most{60, 60};  // seconds of the processor, however busy the machine is
        std::map<pid_t, int> running;
        // A child of whoever became this program by exec is none of ours.
        const auto await_one = [&] {
            int status = 0;
            const pid_t ended = waitpid(-1, &status, 0);
            if (ended < 0 && errno != EINTR)
                throw std::system_error(errno, std::generic_category(), "waitpid");
            const auto one = running.find(ended);
            if (one == running.end()) return;
            const bool told = WIFEXITED(status) && WEXITSTATUS(status) < static_cast<int>(std::size(fates));
            found[static_cast<std::size_t>(one->second)] =
                told ? static_cast<Fate>(WEXITSTATUS(status)) : Fate::crashed;
            running.erase(one);
        };
        for (const int number : chosen) {
            while (running.size() == at_once) await_one();
            const pid_t child = fork();
            if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
            if (child == 0) {
                setrlimit(RLIMIT_CPU, &most);
                _exit(static_cast<int>(fate_of(number)));
            }
            running[child] = number;
        }
        while (!running.empty()) await_one();
    }

    std::vector<Run> runs_;
};

// Detector by detector: mutants, and those that nothing found out.
void print_table(const std::vector<int>& chosen, const std::vector<Fate>& found, std::ostream& out) {
    std::map<std::string_view, std::pair<int, int>> files;
    std::map<std::string_view, std::pair<int, int>> kinds;
    std::map<Fate, int> by;
    for (const int number : chosen) {
        const Fate fate = found[static_cast<std::size_t>(number)];
        for (auto* counts : {&files[mutants[number].file], &kinds[mutants[number].kind]}) {
            ++counts->first;
            counts->second += fate != Fate::survived;
        }
        ++by[fate];
    }
    for (const auto& [file, counts] : files)
        out << fmt::format("  {:<48} {:>3} of {:>3}\n", file, counts.second, counts.first);
    for (const auto& [kind, counts] : kinds)
        out << fmt::format("{}: {} of {} found out\n", kind, counts.second, counts.first);
    for (const auto& [fate, count] : by)
        if (fate != Fate::survived) out << fmt::format("by {}: {}\n", fates[static_cast<int>(fate)], count);
}

}  // namespace
}  // namespace deadrank::mutation

int main(int argc, char** argv) {
    using namespace deadrank::mutation;
    testing::InitGoogleTest(&argc, argv);
    testing::GTEST_FLAG(fail_fast) = true;
    CLI::App app{"Changes thresholds and comparisons of the detectors and counts which changes show."};
    std::size_t count = std::size(mutants);
    unsigned seed = 1;
    double least = 0;
    std::string only;
    app.add_option("--count", count, "how many mutants, drawn by the seed");
    app.add_option("--seed", seed, "");
    app.add_option("--only", only, "only those of files with this in their names");
    app.add_option("--least", least, "exit code 1 if a smaller share is found out");
    CLI11_PARSE(app, argc, argv);
    std::vector<int> chosen;
    for (std::size_t number = 0; number < std::size(mutants); ++number)
        if (mutants[number].file.find(only) != std::string_view::npos)
            chosen.push_back(static_cast<int>(number));
    std::shuffle(chosen.begin(), chosen.end(), std::mt19937(seed));
    chosen.resize(std::min(count, chosen.size()));
    std::sort(chosen.begin(), chosen.end());
    const std::vector<Fate> found = Mutation().try_all(chosen);
    std::size_t caught = 0;
    for (const int number : chosen) {
        const Mutant& mutant = mutants[number];
        const Fate fate = found[static_cast<std::size_t>(number)];
        caught += fate != Fate::survived;
        if (fate == Fate::survived)
            fmt::print("survived  {}:{} {}: {}\n", mutant.file, mutant.line, mutant.kind, mutant.what);
    }
    print_table(chosen, found, std::cout);
    const double share =
        chosen.empty() ? 0 : static_cast<double>(caught) / static_cast<double>(chosen.size());
    fmt::print("{} of {} changes found out ({:.0f} %), drawn from {} by seed {}\n", caught, chosen.size(),
               100 * share, std::size(mutants), seed);
    return share >= least ? 0 : 1;
}
