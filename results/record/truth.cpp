// results/record/truth.cpp — What we injected, and what only a simulator knows: kept beside the evidence,
// never shown to a detector.
#include "results/record/truth.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "results/record/finding.h"
#include "scenarios/model/document.h"

namespace deadrank::results {

// ── Questions the judge asks of the truth.

namespace {

template <class T>
void unite(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& item : more) {
        const auto place = std::lower_bound(all.begin(), all.end(), item);
        if (place == all.end() || *place != item) all.insert(place, item);
    }
}

// In the order of the enumeration.
constexpr std::array<std::string_view, 7> mark_names = {"fault.applied", "fault.reverted", "fault.refused",
                                                        "deadlock",      "outcome",        "fault.missed",
                                                        "fault.unread"};

void prefer(std::string& kept, const std::string& other) {
    if (kept.empty()) kept = other;
}

}  // namespace

std::string_view name_of(MarkKind kind) { return mark_names.at(static_cast<std::size_t>(kind)); }

std::optional<MarkKind> mark_kind_named(std::string_view name) {
    const auto found = std::find(mark_names.begin(), mark_names.end(), name);
    if (found == mark_names.end()) return std::nullopt;
    return static_cast<MarkKind>(found - mark_names.begin());
}

bool is_about_a_fault(MarkKind kind) {
    return kind <= MarkKind::refused || kind == MarkKind::missed || kind == MarkKind::unread;
}

bool Truth::applied() const { return first_fault() != never; }

const Mark* Truth::refusal() const {
    const auto found = std::find_if(marks.begin(), marks.end(),
                                    [](const Mark& mark) { return mark.kind == MarkKind::refused; });
    return found == marks.end() ? nullptr : &*found;
}

const Mark* Truth::idle() const {
    const auto found = std::find_if(marks.begin(), marks.end(), [](const Mark& mark) {
        return mark.kind == MarkKind::missed || mark.kind == MarkKind::unread;
    });
    return found == marks.end() ? nullptr : &*found;
}

bool Truth::took_place() const { return applied() && !refusal() && !idle(); }

Time Truth::first_fault() const {
    Time first = never;
    for (const Mark& mark : marks) {
        if (mark.kind == MarkKind::applied) first = std::min(first, mark.at);
    }
    return first;
}

Blame Truth::culprit() const { return culprit_without({}); }

Blame Truth::culprit_without(const std::set<std::int32_t>& innocent) const {
    Blame all;
    for (const Mark& mark : marks) {
        if (mark.kind != MarkKind::applied || innocent.contains(mark.fault)) continue;
        unite(all.ranks, mark.blame.ranks);
        unite(all.nodes, mark.blame.nodes);
        if (!all.step) all.step = mark.blame.step;
        prefer(all.variable, mark.blame.variable);
        prefer(all.component, mark.blame.component);
        prefer(all.collective, mark.blame.collective);
        prefer(all.shard, mark.blame.shard);
    }
    return all;
}

bool Truth::completed() const {
    return std::all_of(ends.begin(), ends.end(), [](RankEnd end) { return end == RankEnd::finished; });
}

// ── Truth as one JSON document beside the evidence: marks, how each rank ended, who waited for whom.

namespace {

using OrderedJson = nlohmann::ordered_json;
using scenarios::ErrorCode;

constexpr int truth_version = 1;
constexpr std::array<std::string_view, 6> end_names = {"running", "finished", "failed",
                                                       "killed",  "stopped",  "stuck"};

RankEnd end_named(const std::string& name) {
    for (std::size_t i = 0; i < end_names.size(); ++i) {
        if (end_names[i] == name) return static_cast<RankEnd>(i);
    }
    throw std::invalid_argument(fmt::format("'{}' is not an end of a rank", name));
}

MarkKind kind_named(const std::string& name) {
    if (const auto kind = mark_kind_named(name)) return *kind;
    throw std::invalid_argument(fmt::format("'{}' is not a kind of mark", name));
}

Truth truth_from(const OrderedJson& json) {
    if (json.at("deadrank") != "truth" || json.at("version") != truth_version) {
        throw std::invalid_argument("this is not a truth file of version 1");
    }
    Truth truth;
    for (const OrderedJson& mark : json.at("marks")) {
        truth.marks.push_back({.at = Time{mark.at("t").get<std::int64_t>()},
                               .kind = kind_named(mark.at("kind").get<std::string>()),
                               .fault = mark.value("fault", -1),
                               .blame = blame_from(mark.value("blame", OrderedJson::object())),
                               .says = mark.value("says", "")});
    }
    for (const OrderedJson& end : json.at("ends")) truth.ends.push_back(end_named(end.get<std::string>()));
    truth.waits_for = json.value("waits_for", std::vector<std::string>{});
    truth.interrupted = json.value("interrupted", false);
    for (const OrderedJson& look : json.value("waiting", OrderedJson::array()))
        truth.waiting[Time{look.at(0).get<std::int64_t>()}] = Time{look.at(1).get<std::int64_t>()};
    return truth;
}

}  // namespace

scenarios::Result<void> write_truth(const Truth& truth, const std::filesystem::path& file) {
    OrderedJson json = {{"deadrank", "truth"}, {"version", truth_version}, {"marks", OrderedJson::array()}};
    for (const Mark& mark : truth.marks) {
        json["marks"].push_back({{"t", mark.at.count()},
                                 {"kind", name_of(mark.kind)},
                                 {"fault", mark.fault},
                                 {"blame", blame_json(mark.blame)},
                                 {"says", mark.says}});
    }
    json["ends"] = OrderedJson::array();
    for (const RankEnd end : truth.ends) json["ends"].push_back(end_names[static_cast<std::size_t>(end)]);
    json["waits_for"] = truth.waits_for;
    if (truth.interrupted) json["interrupted"] = true;
    for (const auto& [at, sum] : truth.waiting) json["waiting"].push_back({at.count(), sum.count()});
    std::ofstream out(file, std::ios::binary);
    out << json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
    out.flush();
    if (out) return {};
    return scenarios::refuse(ErrorCode::io, "the truth could not be written",
                             "make the directory writable and leave room on the disk", {file.string()});
}

scenarios::Result<Truth> read_truth(const std::filesystem::path& file) {
    const auto text = scenarios::read_text(file);
    if (!text) {
        return scenarios::refuse(ErrorCode::io, "there is no truth to read here",
                                 "name the truth.json of a run", {file.string()});
    }
    try {
        return truth_from(OrderedJson::parse(*text));
    } catch (const std::exception& problem) {
        if (scenarios::is_host_failure(problem)) throw;
        return scenarios::refuse(ErrorCode::bad_input,
                                 fmt::format("the truth cannot be read: {}", problem.what()),
                                 "use the truth.json that a run wrote, unedited", {file.string()});
    }
}

}  // namespace deadrank::results
