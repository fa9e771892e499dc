// runners/find/run_digest.cpp — Everything that could be written to a file is part of one of the hashes.
#include "runners/find/run_digest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

namespace deadrank::runners::find {

namespace {

using nlohmann::json;
using scenarios::Variant;

constexpr std::array<Variant, 3> all_variants = {Variant::control, Variant::fault, Variant::healed};

std::uint64_t add(std::uint64_t hash, std::string_view text) {
    return XXH3_64bits_withSeed(text.data(), text.size(), hash);
}

std::uint64_t hash_of(const results::Evidence& evidence) {
    std::uint64_t hash = add(0, std::to_string(evidence.observed_until().count()));
    for (const results::Event& event : evidence.events())
        hash = add(hash, results::to_json_line(evidence, event));
    return hash;
}

std::uint64_t hash_of(const std::vector<results::Finding>& findings) {
    std::uint64_t hash = 0;
    for (const results::Finding& finding : findings) {
        const results::Blame& blame = finding.blame;
        for (const std::string& text : {finding.symptom, finding.detector, finding.says, blame.variable,
                                        blame.component, blame.collective, blame.shard})
            hash = add(hash, text);
        for (const std::string& cause : finding.causes) hash = add(hash, cause);
        for (const auto rank : blame.ranks) hash = add(hash, std::to_string(rank));
        for (const auto node : blame.nodes) hash = add(hash, fmt::format("node {}", node));
        hash = add(hash, fmt::format("{} {}", blame.step.value_or(-1), finding.at.count()));
    }
    return hash;
}

std::uint64_t hash_of(const std::vector<std::uint64_t>& numbers) {
    return XXH3_64bits(numbers.data(), numbers.size() * sizeof(std::uint64_t));
}

RunDigest digest_run(const std::optional<Played>& played,
                     const std::optional<results::Judgement>& judgement) {
    RunDigest print;
    if (judgement) print.verdict = fmt::format("{}: {}", name_of(judgement->verdict), judgement->reason);
    if (!played) return print;
    const Record& record = played->record;
    print.trace_hash = record.trace_hash;
    print.ranks = hash_of(record.rank_hashes);
    print.evidence = hash_of(record.evidence);
    print.findings = hash_of(played->findings);
    print.events = record.events;
    print.checkpoints = record.checkpoints;
    return print;
}

}  // namespace

std::uint64_t TrialDigest::events() const {
    std::uint64_t sum = 0;
    for (const RunDigest& run : runs) sum += run.events;
    return sum;
}

TrialDigest digest_trial(const Trialled& trialled) {
    const results::Case& outcome = trialled.outcome;
    TrialDigest print;
    print.scenario = outcome.scenario;
    print.seed = outcome.seed;
    print.verdict = fmt::format("{}: {}", name_of(outcome.verdict), outcome.reason);
    const auto of = [&](Variant variant) -> RunDigest& {
        return print.runs.at(static_cast<std::size_t>(variant));
    };
    of(Variant::fault) = digest_run(trialled.fault, outcome.fault);
    of(Variant::control) = digest_run(trialled.control, outcome.control);
    of(Variant::healed) = digest_run(trialled.healed, outcome.healed);
    return print;
}

std::string to_line(const TrialDigest& print) {
    json runs = json::array();
    for (const RunDigest& run : print.runs) {
        runs.push_back({run.trace_hash, run.ranks, run.evidence, run.findings, run.events, run.checkpoints,
                        run.verdict});
    }
    const json line = {{"scenario", print.scenario},
                       {"seed", print.seed},
                       {"verdict", print.verdict},
                       {"runs", std::move(runs)}};
    return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<TrialDigest> parse_trial_digest(std::string_view line) {
    const json read = json::parse(line, nullptr, false);
    if (!read.is_object()) return {};
    try {
        TrialDigest print;
        read.at("scenario").get_to(print.scenario);
        read.at("seed").get_to(print.seed);
        read.at("verdict").get_to(print.verdict);
        for (std::size_t i = 0; i < print.runs.size(); ++i) {
            const json& from = read.at("runs").at(i);
            RunDigest& run = print.runs.at(i);
            for (const auto& [place, into] :
                 {std::pair{0, &run.trace_hash}, std::pair{1, &run.ranks}, std::pair{2, &run.evidence},
                  std::pair{3, &run.findings}, std::pair{4, &run.events}}) {
                from.at(static_cast<std::size_t>(place)).get_to(*into);
            }
            from.at(5).get_to(run.checkpoints);
            from.at(6).get_to(run.verdict);
        }
        return print;
    } catch (const json::exception&) {
        return {};
    }
}

std::optional<Disagreement> disagreement(const TrialDigest& one, const TrialDigest& other) {
    for (const Variant variant : all_variants) {
        const RunDigest& a = one.runs.at(static_cast<std::size_t>(variant));
        const RunDigest& b = other.runs.at(static_cast<std::size_t>(variant));
        if (a.trace_hash != b.trace_hash || a.events != b.events || a.ranks != b.ranks)
            return Disagreement{variant, "events"};
        if (a.evidence != b.evidence) return Disagreement{variant, "evidence"};
        if (a.findings != b.findings) return Disagreement{variant, "findings"};
        if (a.verdict != b.verdict) return Disagreement{variant, "verdict"};
    }
    if (one.verdict != other.verdict) return Disagreement{Variant::fault, "verdict"};
    return {};
}

}  // namespace deadrank::runners::find
