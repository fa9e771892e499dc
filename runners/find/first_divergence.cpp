// runners/find/first_divergence.cpp — A random difference may move when the runs are played again, so the
// window follows it a few times.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runners/find/run_digest.h"
#include "sim/engine/trace_hash.h"

namespace deadrank::runners::find {

namespace {

using nlohmann::json;
using scenarios::Result;

Window window_of(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) {
    const sim::TraceWindow window = sim::first_difference(one, other);
    return {window.first, window.last};
}

template <class T>
std::size_t first_unlike(const std::vector<T>& one, const std::vector<T>& other) {
    const std::size_t common = std::min(one.size(), other.size());
    return static_cast<std::size_t>(
        std::mismatch(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(common), other.begin()).first -
        one.begin());
}

std::optional<Divergence> compare(const Traced& one, const Traced& other) {
    const std::size_t at = first_unlike(one.watched, other.watched);
    if (at == one.watched.size() && at == other.watched.size()) return {};
    Divergence divergence;
    if (at < one.watched.size()) divergence.one = one.watched[at];
    if (at < other.watched.size()) divergence.other = other.watched[at];
    const std::size_t line = first_unlike(one.evidence, other.evidence);
    if (line < one.evidence.size()) divergence.evidence_one = one.evidence[line];
    if (line < other.evidence.size()) divergence.evidence_other = other.evidence[line];
    return divergence;
}

}  // namespace

Traced traced(const Record& record) {
    Traced traced{record.checkpoints, record.watched, {}};
    if (record.watched.empty()) return traced;
    for (const results::Event& event : record.evidence.events()) {
        if (event.at < record.watched.front().at || event.at > record.watched.back().at) continue;
        traced.evidence.push_back(results::to_json_line(record.evidence, event));
    }
    return traced;
}

std::string to_line(const Traced& traced) {
    json watched = json::array();
    for (const TraceEvent& event : traced.watched)
        watched.push_back({event.index, event.at.count(), event.rank, event.what, event.digest});
    const json line = {
        {"checkpoints", traced.checkpoints}, {"watched", std::move(watched)}, {"evidence", traced.evidence}};
    return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Traced> traced_from_line(std::string_view line) {
    const json read = json::parse(line, nullptr, false);
    if (!read.is_object()) return {};
    try {
        Traced traced;
        read.at("checkpoints").get_to(traced.checkpoints);
        read.at("evidence").get_to(traced.evidence);
        for (const json& event : read.at("watched")) {
            traced.watched.push_back({event.at(0).get<std::uint64_t>(),
                                      results::Time(event.at(1).get<std::int64_t>()),
                                      event.at(2).get<results::Rank>(), event.at(3).get<std::string>(),
                                      event.at(4).get<std::uint64_t>()});
        }
        return traced;
    } catch (const json::exception&) {
        return {};
    }
}

Result<std::optional<Divergence>> find_first_divergence(const Tracer& one, const Tracer& other) {
    constexpr int tries = 5;
    Window window;  // empty at first: only the checkpoints are needed
    for (int i = 0; i < tries; ++i) {
        const auto a = one(window);
        if (!a) return tl::unexpected(a.error());
        const auto b = other(window);
        if (!b) return tl::unexpected(b.error());
        const Window now = window_of(a->checkpoints, b->checkpoints);
        if (now.first >= window.first) {
            if (auto divergence = compare(*a, *b)) return divergence;
        }
        window = now;
    }
    return std::optional<Divergence>();
}

std::string text_of(const std::optional<TraceEvent>& event) {
    if (!event) return "it had ended";
    const std::string who = event->rank == results::no_rank ? "" : fmt::format(", rank {}", event->rank);
    return fmt::format("event {} at {:.9f} s{}, {}, {:016x}", event->index,
                       static_cast<double>(event->at.count()) / 1e9, who, event->what, event->digest);
}

}  // namespace deadrank::runners::find
