// runners/parity.cpp — Findings as words, and the two sets of them beside each other.
#include "runners/parity.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/scale.h"

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

}  // namespace

std::string_view name_of(Parity parity) {
    static constexpr std::array<std::string_view, 4> names = {"agree", "explained", "differ", "not_played"};
    return names.at(static_cast<std::size_t>(parity));
}

std::string listed(const std::set<std::string>& findings) {
    return findings.empty() ? "nothing" : fmt::format("{}", fmt::join(findings, ", "));
}

Compared compare(const scenarios::Scenario& written, scenarios::Seed seed, Runner& sim, Runner& reality,
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary, const LineOptions& asked) {
    LineOptions options = asked;
    options.control = options.healed = false;
    const auto own = scenarios::resolve(written, seed, sim.capabilities(), vocabulary);
    const bool large = own && own->fault.world_size() > ranks_most;
    const scenarios::Scenario scenario = large ? scaled(written, ranks_most) : written;
    Compared compared{.scenario = scenario.id};
    const Trialled simulated = play(scenario, seed, sim, vocabulary, options);
    const Trialled real = simulated.fault ? play(scenario, seed, reality, vocabulary, options) : Trialled{};
    if (!simulated.fault || !real.fault || !real.fault->record.truth.applied()) {
        const results::Case& outcome = simulated.fault ? real.outcome : simulated.outcome;
        compared.why = outcome.reason.empty() ? "the fault never happened" : outcome.reason;
        return compared;
    }
    compared.simulated = diagnosis(simulated);
    compared.real = diagnosis(real);
    if (const auto reason = scenario.parity.find(std::string(reality.name()));
        reason != scenario.parity.end())
        compared.why = reason->second;
    compared.parity = compared.simulated == compared.real ? Parity::agree
                      : compared.why.empty()              ? Parity::differ
                                                          : Parity::explained;
    return compared;
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
