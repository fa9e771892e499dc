// runners/studies/parity.cpp — Findings as words, and the two sets of them beside each other.
#include "runners/studies/parity.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/line/scale.h"
#include "scenarios/format/resolve.h"

namespace deadrank::runners {

namespace {

std::set<std::string> diagnosis(const Trialled& trialled) {
    std::set<std::string> said;
    if (!trialled.fault) return said;
    for (const results::Finding& finding : trialled.fault->findings) {
        results::Blame blame;
        blame.ranks = finding.blame.ranks;
        said.insert(fmt::format("{} ({})", finding.symptom, blame.text()));
    }
    return said;
}

// As it is written, or on fewer ranks; on twice as many where it names ranks that are not among those.
scenarios::Result<scenarios::Scenario> at_most(const scenarios::Scenario& scenario, scenarios::Seed seed,
                                               std::int64_t ranks, const scenarios::Capabilities& able,
                                               const scenarios::Vocabulary& vocabulary) {
    const scenarios::Capabilities anything{.backend = "any", .levers = {"*"}, .workloads = {"*"}};
    const auto own = scenarios::resolve(scenario, seed, anything, vocabulary);
    if (!own) return tl::unexpected(own.error());
    const std::int64_t stated = own->fault.world_size();
    if (stated <= ranks) return scenario;
    scenarios::Scenario smaller = scaled(scenario, ranks);
    if (scenarios::resolve(smaller, seed, anything, vocabulary)) return smaller;
    const std::int64_t twice = std::min(2 * ranks, able.ranks_max);
    if (twice >= stated) return stated <= able.ranks_max ? scenario : smaller;
    scenarios::Scenario larger = scaled(scenario, twice);
    return scenarios::resolve(larger, seed, anything, vocabulary) ? larger : smaller;
}

// Real PyTorch processes talk over gloo: that is what the simulator is to be held against, not its NCCL.
scenarios::Scenario over_the_library_of(const Runner& reality, scenarios::Scenario scenario) {
    if (reality.name() != "local" || scenario.cluster.contains("library")) return scenario;
    scenario.cluster["library"].options = {{.type = scenarios::ValueType::choice, .text = "gloo"}};
    return scenario;
}

}  // namespace

std::string_view name_of(Parity parity) {
    static constexpr std::array<std::string_view, 4> names = {"agree", "explained", "differ", "not_played"};
    return names.at(static_cast<std::size_t>(parity));
}

std::string listed(const std::set<std::string>& findings) {
    return findings.empty() ? "nothing" : fmt::format("{}", fmt::join(findings, ", "));
}

std::string why_not_on_paper(const scenarios::Scenario& written, scenarios::Seed seed, Runner& reality,
                             std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary) {
    const auto scenario = at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    if (!scenario) return scenario.error().what;
    const auto trial = scenarios::resolve(*scenario, seed, reality.capabilities(), vocabulary);
    if (!trial) return trial.error().what;
    const auto able = reality.on_paper(trial->fault);
    return able ? std::string() : able.error().what;
}

std::string kind_of_reason(std::string_view why) {
    std::string kind;
    bool quoted = false, number = false;
    for (const char letter : why) {
        const bool quote = letter == '\'', digit = letter >= '0' && letter <= '9';
        if (quote && !quoted) kind += "…";
        if (digit && !number && !quoted) kind += "…";
        if (!quote && !quoted && !digit) kind += letter;
        if (quote) quoted = !quoted;
        number = digit;
    }
    return kind;
}

void conclude(Compared& compared, const std::string& reason) {
    compared.why = reason;
    compared.parity = compared.simulated == compared.real ? Parity::agree
                      : reason.empty()                    ? Parity::differ
                                                          : Parity::explained;
}

Compared compare(const scenarios::Scenario& written, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary, const LineOptions& asked) {
    Compared compared{.scenario = written.id};
    compared.why = why_not_on_paper(written, seed, reality, ranks_most, vocabulary);
    if (!compared.why.empty()) return compared;
    LineOptions options = asked;
    options.control = options.healed = false;
    const scenarios::Scenario scenario =
        *at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    const auto play_on = [&](Runner& runner, const scenarios::Scenario& one) {
        LineOptions here = options;
        if (!options.out.empty()) here.out = options.out / runner.name();
        return play(one, seed, runner, vocabulary, here);
    };
    const Trialled simulated = play_on(sim, over_the_library_of(reality, scenario));
    const Trialled real = simulated.fault ? play_on(reality, scenario) : Trialled{};
    // A lever that was refused half-way makes another bug of it.
    if (!simulated.fault || !real.fault || !real.fault->record.truth.took_place()) {
        const results::Case& outcome = simulated.fault ? real.outcome : simulated.outcome;
        compared.why = outcome.reason.empty() ? "the fault never found its moment" : outcome.reason;
        return compared;
    }
    compared.simulated = diagnosis(simulated);
    compared.real = diagnosis(real);
    compared.played_on = fmt::format("{} ranks", real.fault->plan.world_size());
    const auto reason = scenario.parity.find(std::string(reality.name()));
    conclude(compared, reason == scenario.parity.end() ? "" : reason->second);
    return compared;
}

std::set<std::string> simulated_findings(const scenarios::Scenario& written, scenarios::Seed seed,
                                         Runner& sim, Runner& reality, std::int64_t ranks_most,
                                         const scenarios::Vocabulary& vocabulary) {
    const auto scenario = at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    if (!scenario) return {};
    LineOptions options;
    options.control = options.healed = false;
    return diagnosis(play(over_the_library_of(reality, *scenario), seed, sim, vocabulary, options));
}

void ParityRate::add(Parity parity) {
    agreed += parity == Parity::agree;
    explained += parity == Parity::explained;
    differed += parity == Parity::differ;
    not_played += parity == Parity::not_played;
}

std::string ParityRate::text(std::string_view backend) const {
    return fmt::format(
        "{} of {} scenarios have the same findings in sim and {} ({} %); of the others {} say why, {} do not",
        agreed, played(), backend, played() > 0 ? agreed * 100 / played() : 0, explained, differed);
}

}  // namespace deadrank::runners
