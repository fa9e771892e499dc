// runners/parity/parity.cpp — Whether two backends give the same findings for one plan.
#include "runners/parity/parity.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <utility>

#include "runners/pipeline/library.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners {

// ── Turns findings into words, and compares the two sets.

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

constexpr std::string_view launcher_ended = "the launcher ended ";

// Where both say the same, and the real run names fewer ranks because the launcher had ended the others: who
// they were. Empty if that is not the whole difference.
std::string list_ranks_ended_early(const std::vector<results::Finding>& simulated,
                                   const std::vector<results::Finding>& real,
                                   const results::Evidence& evidence) {
    constexpr int end_signal = 15;  // SIGTERM
    std::set<results::Rank> ended, silent;
    for (const results::Event* event : evidence.each<results::RankExit>()) {
        if (event->as<results::RankExit>()->signal == end_signal) ended.insert(event->rank);
    }
    if (simulated.size() != real.size()) return {};
    for (const results::Finding& here : simulated) {
        const auto there = std::ranges::find(real, here.symptom, &results::Finding::symptom);
        if (there == real.end()) return {};
        const std::set<results::Rank> mine(here.blame.ranks.begin(), here.blame.ranks.end());
        const std::set<results::Rank> theirs(there->blame.ranks.begin(), there->blame.ranks.end());
        if (theirs.empty() != mine.empty() || !std::ranges::includes(mine, theirs)) return {};
        std::ranges::set_difference(mine, theirs, std::inserter(silent, silent.end()));
    }
    if (silent.empty() || !std::ranges::includes(ended, silent)) return {};
    results::Blame blame;
    blame.ranks.assign(silent.begin(), silent.end());
    return fmt::format("{}{} before it could say the same", launcher_ended, blame.text());
}

// What the simulator found, and whether the scenario expects it.
void take_simulated(Compared& compared, const Trialled& simulated) {
    compared.simulated = diagnosis(simulated);
    compared.as_expected =
        simulated.outcome.fault && simulated.outcome.fault->outcome == results::Outcome::caught;
}

// The scenario as written, or on at most `ranks` ranks; on twice as many if it names ranks beyond those.
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

// Real PyTorch processes use gloo here, so the simulator must be compared with gloo, not NCCL.
scenarios::Scenario with_library_of(const Runner& reality, scenarios::Scenario scenario) {
    if (reality.name() != scenarios::BackendId::local || scenario.cluster.contains("library"))
        return scenario;
    scenario.cluster["library"].options = {
        {.type = scenarios::ValueType::choice, .text = std::string(enum_name(scenarios::LibraryKind::gloo))}};
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
    const auto able = reality.check_plan(trial->fault);
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
                 std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary,
                 const PipelineOptions& asked) {
    Compared compared{.scenario = written.id, .seed = seed.number};
    compared.why = why_not_on_paper(written, seed, reality, ranks_most, vocabulary);
    if (!compared.why.empty()) return compared;
    PipelineOptions options = asked;
    options.control = options.healed = false;
    const scenarios::Scenario scenario =
        *at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    const auto play_on = [&](Runner& runner, const scenarios::Scenario& one) {
        PipelineOptions here = options;
        if (!options.out.empty()) here.out = options.out / runner.name();
        return play(one, seed, runner, vocabulary, here);
    };
    const Trialled simulated = play_on(sim, with_library_of(reality, scenario));
    const Trialled real = simulated.fault ? play_on(reality, scenario) : Trialled{};
    // If a lever was refused half-way, it is a different bug.
    if (!simulated.fault || !real.fault || !real.fault->record.truth.took_place()) {
        const results::Case& outcome = simulated.fault ? real.outcome : simulated.outcome;
        compared.why = outcome.reason.empty() ? "the fault never found its moment" : outcome.reason;
        return compared;
    }
    take_simulated(compared, simulated);
    compared.real = diagnosis(real);
    compared.played_on = fmt::format("{} ranks", real.fault->plan.world_size());
    const auto reason = scenario.parity.find(std::string(reality.name()));
    conclude(compared, reason == scenario.parity.end() ? "" : reason->second);
    if (compared.parity == Parity::differ)
        conclude(compared, list_ranks_ended_early(simulated.fault->findings, real.fault->findings,
                                                  real.fault->record.evidence));
    return compared;
}

void simulate_again(Compared& compared, const scenarios::Scenario& written, Runner& sim, Runner& reality,
                    std::int64_t ranks_most, const scenarios::Vocabulary& vocabulary) {
    const scenarios::Seed seed{compared.seed};
    const std::set<std::string> before = std::exchange(compared.simulated, {});
    compared.as_expected = false;
    const auto scenario = at_most(written, seed, ranks_most, reality.capabilities(), vocabulary);
    PipelineOptions options;
    options.control = options.healed = false;
    if (scenario)
        take_simulated(compared, play(with_library_of(reality, *scenario), seed, sim, vocabulary, options));
    const auto reason = written.parity.find(std::string(reality.name()));
    const bool ended = compared.why.starts_with(launcher_ended) && compared.simulated == before;
    const std::string seen = ended ? compared.why : "";
    conclude(compared, reason == written.parity.end() ? seen : reason->second);
}

bool is_held_out(std::uint64_t number, std::string_view scenario) {
    constexpr std::uint64_t one_of = 4;
    return scenarios::Draw(number, scenario, "parity.held_out").below(0, one_of) == 0;
}

void ParityRate::add(const Compared& one) {
    agreed += one.parity == Parity::agree;
    explained += one.parity == Parity::explained;
    differed += one.parity == Parity::differ;
    not_played += one.parity == Parity::not_played;
    on_nothing += one.on_nothing();
    as_expected += one.parity == Parity::agree && !one.on_nothing() && one.as_expected;
}

std::string ParityRate::text(std::string_view backend) const {
    return fmt::format(
        "{} of {} scenarios have the same findings in sim and {} ({} %), {} of them what the scenario "
        "expects, "
        "{} something else and {} nothing; of the others {} say why, {} do not",
        agreed, played(), backend, percent(), as_expected, agreed - as_expected - on_nothing, on_nothing,
        explained, differed);
}

std::map<std::string, std::vector<const Compared*>> ParityPage::by_scenario() const {
    std::map<std::string, std::vector<const Compared*>> all;
    for (const Compared& one : compared) all[one.scenario].push_back(&one);
    return all;
}

std::map<std::uint64_t, ParityRate> ParityPage::by_seed(bool held_out_alone) const {
    std::map<std::uint64_t, ParityRate> rates;
    for (const Compared& one : compared) {
        const bool held = held_out && is_held_out(*held_out, one.scenario);
        if (held || !held_out_alone) rates[one.seed].add(one);
    }
    return rates;
}

std::string spread_text(const std::map<std::uint64_t, ParityRate>& by_seed) {
    std::size_t least = 100, most = 0;
    for (const auto& [seed, rate] : by_seed) {
        least = std::min(least, rate.percent());
        most = std::max(most, rate.percent());
    }
    return least >= most ? fmt::format("{} %", most) : fmt::format("{} to {} %", least, most);
}

}  // namespace deadrank::runners
