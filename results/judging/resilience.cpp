// results/judging/resilience.cpp — Ended or not, then how: by error, whose words are weighed elsewhere, or by
// a result, which is compared with the control's.
#include "results/judging/resilience.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/judging/weigh_words.h"

namespace deadrank::results {

namespace {

std::string seconds(Time time) { return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1e9); }

struct Ending {
    bool ended = false, failed = false, restarted = false;
    Time at{0};            // of the job's end; the end of watching, while it stands
    Time progress{0};      // the last step that any rank finished, or the last one to come to the rendezvous
    Time closing = never;  // since then: the launcher has noticed, and asks the other ranks to end
};

// torchrun gives a rank that long to answer its SIGTERM. Two waits of a time-out and this one would be a
// hang.
constexpr Time launchers_patience{30'000'000'000};

Ending ending_of(const Evidence& evidence) {
    Ending ending;
    ending.at = evidence.observed_until();
    std::map<Rank, bool> failed;
    for (const Event& event : evidence.events()) {
        if (const auto* stop = event.as<JobStop>()) {
            ending.ended = true;
            ending.failed = stop->code != 0;
            ending.at = event.at;
        } else if (const auto* exit = event.as<RankExit>()) {
            failed[event.rank] = exit->code != 0 || exit->signal != 0;
        } else if (event.as<RankStart>()) {
            failed[event.rank] = false;
        } else if (event.as<Restart>()) {
            ending.restarted = true;
        } else if (event.as<StepEnd>() || event.as<RendezvousEnter>()) {
            // Until a rank comes to the rendezvous it loads its libraries, for as long as the machine needs.
            ending.progress = event.at;
            ending.closing = never;
        } else if (const auto* log = event.as<RankLog>(); log && event.rank == no_rank) {
            const bool asks = evidence.text(log->line).find("closing signal") != std::string_view::npos;
            if (asks) ending.closing = std::min(ending.closing, event.at);
        }
    }
    ending.failed = ending.failed ||
                    std::any_of(failed.begin(), failed.end(), [](const auto& one) { return one.second; });
    return ending;
}

// What a user would call the result: the last loss and parameters of each rank.
struct EndResult {
    std::map<Rank, double> loss;
    std::map<std::pair<Rank, std::string>, std::uint64_t> parameters;
    std::map<Rank, std::string> samples;
};

EndResult outcome_of(const Evidence& evidence) {
    EndResult outcome;
    for (const Event& event : evidence.events()) {
        if (const auto* step = event.as<StepEnd>()) {
            outcome.loss[event.rank] = step->loss;
        } else if (const auto* digest = event.as<ParametersDigest>()) {
            outcome.parameters[{event.rank, std::string(evidence.text(digest->name))}] = digest->digest;
        } else if (const auto* batch = event.as<DataBatch>()) {
            outcome.samples[event.rank] += fmt::format("{};", evidence.text(batch->samples));
        }
    }
    return outcome;
}

bool same_number(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || a == b;
}

// "rank 1 ends with another loss, 0.231 where 0.212 was right"; empty when nothing differs.
std::string difference(const EndResult& seen, const EndResult& right, bool restarted) {
    for (const auto& [rank, loss] : right.loss) {
        const auto found = seen.loss.find(rank);
        if (found == seen.loss.end()) return fmt::format("rank {} ended without a loss", rank);
        if (!same_number(found->second, loss))
            return fmt::format("rank {} ends with a loss of {:.6g} where {:.6g} was right", rank,
                               found->second, loss);
    }
    for (const auto& [key, digest] : right.parameters) {
        const auto found = seen.parameters.find(key);
        if (found == seen.parameters.end() || found->second != digest)
            return fmt::format("rank {} ends with other {} than the control", key.first, key.second);
    }
    for (const auto& [rank, samples] : right.samples) {
        const auto found = seen.samples.find(rank);
        if (!restarted && (found == seen.samples.end() || found->second != samples))
            return fmt::format("rank {} saw other samples than the control", rank);
    }
    return "";
}

}  // namespace

std::string_view name_of(Response response) {
    static constexpr std::array<std::string_view, 7> names = {
        "clear_error",         "misleading_error", "wrong_rank", "hang",
        "silent_wrong_result", "recovered",        "unaffected"};
    return names.at(static_cast<std::size_t>(response));
}

std::string_view text_of(Response response) {
    static constexpr std::array<std::string_view, 7> texts = {
        "clear error",         "misleading error", "wrong rank blamed", "hang",
        "silent wrong result", "recovered",        "unaffected"};
    return texts.at(static_cast<std::size_t>(response));
}

std::string subject_lines(const Subject& subject) {
    return fmt::format("subject={}\nframework={}\nversion={}\ntimeout={}\ndebug={}", subject.name,
                       subject.framework, subject.version, subject.timeout.count(), subject.debug);
}

Subject subject_of(const Evidence& evidence) {
    const auto starts = evidence.each<JobStart>();
    const std::string_view what = starts.empty() ? "" : evidence.text(starts.front()->as<JobStart>()->what);
    const std::string lines = "\n" + std::string(what) + "\n";
    const auto value = [&](const std::string& name) -> std::string {
        const std::size_t at = lines.find("\n" + name + "=");
        if (at == std::string::npos) return {};
        const std::size_t begin = at + name.size() + 2;
        return lines.substr(begin, lines.find('\n', begin) - begin);
    };
    return {value("subject"), value("framework"), value("version"),
            Time{std::atoll(value("timeout").c_str())}, value("debug")};
}

bool is_good(Response response) {
    return response == Response::clear_error || response == Response::recovered ||
           response == Response::unaffected;
}

std::optional<Resilience> resilience_of(const Stood& stood) {
    const Ending ending = ending_of(stood.evidence);
    const Time begun = std::max(stood.fault_at == never ? Time{0} : stood.fault_at, Time{0});
    const Time took = ending.at - begun;
    const Time closed = ending.ended && ending.closing != never
                            ? std::min(ending.at - ending.closing, launchers_patience)
                            : Time{0};
    const Time still = ending.at - closed - std::max(begun, ending.progress);
    const bool past = stood.timeout.count() > 0 && still > hang_multiple * stood.timeout;
    if (!ending.ended || (ending.failed && past)) {
        const double times = stood.timeout.count() > 0 ? static_cast<double>(still.count()) /
                                                             static_cast<double>(stood.timeout.count())
                                                       : 0;
        std::string says =
            fmt::format("{} {} without a step", ending.ended ? "ended after" : "watched for", seconds(still));
        const Time waited = waited_between(stood.waiting, ending.at - still, ending.at);
        if (past && still - waited <= hang_multiple * stood.timeout) return std::nullopt;
        if (times > 0)
            says += fmt::format(", {:.1f} times its time-out of {}", times, seconds(stood.timeout));
        return Resilience{Response::hang, still, says};
    }
    if (ending.failed) {
        Resilience weighed = weigh_words(stood);
        weighed.took = took;
        return weighed;
    }
    if (!stood.control) return std::nullopt;
    const std::string differs =
        difference(outcome_of(stood.evidence), outcome_of(*stood.control), ending.restarted);
    if (!differs.empty()) return Resilience{Response::silent_wrong_result, never, differs};
    if (ending.restarted) return Resilience{Response::recovered, took, "started again, to the same result"};
    return Resilience{Response::unaffected, never, "the same result as the control's"};
}

}  // namespace deadrank::results
