// runners/explore/mutants.cpp — A mutant's draw depends on its own name alone, so a larger limit keeps all that a
// smaller one drew.
#include "runners/explore/mutants.h"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

#include "scenarios/model/chance.h"

namespace deadrank::runners::explore {

std::string_view name_of(MutantOutcome outcome) {
    switch (outcome) {
        case MutantOutcome::killed:
            return "killed";
        case MutantOutcome::timed_out:
            return "timed_out";
        case MutantOutcome::survived:
            return "survived";
        case MutantOutcome::equivalent:
            return "equivalent";
        case MutantOutcome::not_reached:
            return "not_reached";
        case MutantOutcome::invalid:
            break;
    }
    return "invalid";
}

bool counts(MutantOutcome outcome) {
    return outcome == MutantOutcome::killed || outcome == MutantOutcome::timed_out ||
           outcome == MutantOutcome::survived;
}

// A test that fails although no value changed fails for another reason, so it proves nothing: invalid.
MutantOutcome Mutant::outcome() const {
    if (mutation.empty()) return MutantOutcome::not_reached;
    const auto any = [&](auto has) { return std::any_of(runs.begin(), runs.end(), has); };
    if (any([](const MutantRun& run) { return run.changed && run.fails && !run.hangs; })) return MutantOutcome::killed;
    if (any([](const MutantRun& run) { return run.changed && run.hangs; })) return MutantOutcome::timed_out;
    if (any([](const MutantRun& run) { return !run.trouble.empty() || (!run.changed && run.fails); }))
        return MutantOutcome::invalid;
    if (any([](const MutantRun& run) { return run.changed; })) return MutantOutcome::survived;
    if (any([](const MutantRun& run) { return run.executed; })) return MutantOutcome::equivalent;
    return runs.empty() ? MutantOutcome::invalid : MutantOutcome::not_reached;
}

std::vector<std::string> Mutant::killers() const {
    std::vector<std::string> names;
    for (const MutantRun& run : runs)
        if (run.changed && run.fails) names.push_back(run.test);
    return names;
}

std::string Mutant::says() const {
    return mutation.empty() ? site.call : fmt::format("{} of {}", mutation, site.call);
}

bool matches(const CallSite& site, const std::string& pattern) {
    if (pattern.empty()) return true;
    const std::string whole = fmt::format("{} {}:{}", site.call, site.file, site.line);
    return ::fnmatch(fmt::format("*{}*", pattern).c_str(), whole.c_str(), 0) == 0;
}

std::set<std::string> test_files_of(const RecordedTests& tests) {
    std::set<std::string> files;
    for (const auto& [name, test] : tests) files.insert(test.test_files.begin(), test.test_files.end());
    return files;
}

std::vector<Mutant> mutants_of(const RecordedTests& tests, const MutantChoice& choice) {
    const std::set<std::string> left_out = choice.in_tests ? std::set<std::string>() : test_files_of(tests);
    std::map<std::pair<CallSite, std::string>, std::vector<std::string>> found;
    for (const auto& [name, test] : tests) {
        if (!test.passed) continue;
        for (const auto& [site, mutations] : test.reached) {
            if (!matches(site, choice.sites) || left_out.contains(site.file)) continue;
            for (const std::string& mutation : mutations)
                if (choice.mutations.empty() || choice.mutations.contains(mutation))
                    found[{site, mutation}].push_back(name);
        }
    }
    std::vector<Mutant> mutants;
    for (auto& [key, names] : found) mutants.push_back({key.first, key.second, std::move(names), {}});
    if (choice.limit == 0 || mutants.size() <= choice.limit) return mutants;
    const auto drawn = [&](const Mutant& one) {
        const std::string name = fmt::format("{} {} {} {}", one.site.file, one.site.line, one.site.call, one.mutation);
        return scenarios::mix(scenarios::number_of(name) ^ scenarios::mix(choice.seed));
    };
    const auto by_draw = [&](const Mutant& one, const Mutant& other) { return drawn(one) < drawn(other); };
    std::sort(mutants.begin(), mutants.end(), by_draw);
    mutants.resize(choice.limit);
    std::sort(mutants.begin(), mutants.end(), [](const Mutant& one, const Mutant& other) {
        return std::tie(one.site, one.mutation) < std::tie(other.site, other.mutation);
    });
    return mutants;
}

}  // namespace deadrank::runners::explore
