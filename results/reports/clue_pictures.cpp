// results/reports/clue_pictures.cpp — Values and timelines of a run as text pictures.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "results/record/event_names.h"
#include "results/record/words.h"
#include "results/reports/clues.h"
#include "results/reports/style.h"
#include "results/reports/timeline.h"

namespace deadrank::results::reports {

// ── A timeline in letters, and a table of what each rank did last.

namespace {

constexpr std::size_t picture_columns = 56;
constexpr std::size_t rows_most = 16;
constexpr std::size_t picture_bytes_most = 4'000'000;  // of rows: none is left out for its size

const std::vector<Slice>& slices_of(const Timeline& timeline, const Row& row) {
    return timeline.ranks[static_cast<std::size_t>(row.ranks.front())];
}

// The letter for a moment in which several things go on: a call hides work, an exit hides both.
std::string_view letter_at(const Timeline& timeline, const std::vector<Slice>& slices, Time from, Time to) {
    std::string_view letter = "·";
    Time longest{0};
    for (const Slice& slice : slices) {
        if (slice.begin >= to) break;
        const SliceKind& kind = timeline.kinds[slice.kind];
        const Time end = std::min(slice.end, to);
        const Time shown = end - std::max(slice.begin, from);
        if (end <= from || kind.lane == Lane::instant || kind.lane == Lane::step) continue;
        if (kind.group == SliceGroup::gone) return "×";
        if (kind.group == SliceGroup::finished) return " ";
        if (kind.lane == Lane::call && 2 * shown > to - from) return slice.end == never ? "!" : "█";
        if (kind.lane == Lane::work && shown > longest) {
            longest = shown;
            letter = "░";
        }
    }
    return letter;
}

// `gone`: since when the rank was gone. A call that ends at that moment was not completed.
std::string_view lasting(const Slice& slice, Time gone) {
    if (slice.end == never) return "never ended";
    return slice.end == gone ? "cut off" : "completed";
}

const Slice* last_of(const Timeline& timeline, const std::vector<Slice>& slices, Lane lane) {
    const auto found = std::find_if(slices.rbegin(), slices.rend(), [&](const Slice& slice) {
        return timeline.kinds[slice.kind].lane == lane;
    });
    return found == slices.rend() ? nullptr : &*found;
}

std::string row_state(const Timeline& timeline, const std::vector<Slice>& slices) {
    const Slice* work = last_of(timeline, slices, Lane::work);
    const auto did = [&](SliceGroup group) { return work && timeline.kinds[work->kind].group == group; };
    std::string words;
    const Time gone = did(SliceGroup::gone) ? work->begin : never;
    const auto open = std::find_if(slices.begin(), slices.end(), [&](const Slice& slice) {
        return timeline.kinds[slice.kind].lane == Lane::call && (slice.end == never || slice.end == gone);
    });
    // The oldest call that was not completed holds up those after it.
    const Slice* call = open != slices.end() ? &*open : last_of(timeline, slices, Lane::call);
    if (call) {
        const SliceKind& kind = timeline.kinds[call->kind];
        words = kind.label;
        if (kind.series > 1) words.insert(words.find(' '), fmt::format(" {}", call->number));
        words += fmt::format(" ({}), {}", kind.detail,
                             kind.group == SliceGroup::error ? "failed" : lasting(*call, gone));
    }
    if (did(SliceGroup::gone) || (did(SliceGroup::finished) && !call))
        words += (words.empty() ? "" : "; ") + timeline.kinds[work->kind].label;
    return words.empty() ? "no call recorded" : words;
}

// Time of work per step, outside of calls: the median of all steps. `never` if there are too few.
Time pace_of(const Timeline& timeline, const std::vector<Slice>& slices) {
    std::vector<Time> works;
    for (const Slice& slice : slices) {
        const SliceKind& kind = timeline.kinds[slice.kind];
        if (kind.lane == Lane::step) works.emplace_back(0);
        const bool counts =
            kind.phase == Phase::forward || kind.phase == Phase::backward || kind.phase == Phase::data;
        if (counts && !works.empty() && slice.end != never) works.back() += slice.end - slice.begin;
    }
    if (works.size() < 2) return never;
    std::sort(works.begin(), works.end());
    return works[works.size() / 2];
}

// Both pictures in cells: they differ by at most one cell in thirty.
bool look_alike(const std::vector<std::string_view>& one, const std::vector<std::string_view>& other) {
    std::size_t apart = 0;
    for (std::size_t i = 0; i < one.size(); ++i) apart += one[i] != other[i] ? 1 : 0;
    return 30 * apart <= one.size();
}

bool is_near(Time one, Time other) {
    if (one == never || other == never) return one == other;
    return 20 * std::chrono::abs(one - other) <= std::max(one, other);  // 5 %
}

// What a reader sees of one rank: in words, and as a picture.
struct Sight {
    std::vector<Rank> ranks;
    std::string step, state;
    Time pace = never;
    std::vector<std::string_view> cells;

    bool says_the_same(const Sight& other) const {
        return step == other.step && state == other.state && is_near(pace, other.pace);
    }
    bool looks_like(const Sight& other) const { return look_alike(cells, other.cells); }
};

// How the time of a run is drawn: its busy part, then the silence, if it ended in one.
struct Stretch {
    Time last{1}, until{0};
    bool hangs() const { return until - last > last / 8; }
};

Stretch span_of(const Evidence& evidence) {
    Stretch span;
    for (const Event& event : evidence.events()) span.last = std::max(span.last, event.at);
    span.until = evidence.observed_until();
    return span;
}

std::vector<Sight> sights_of(const Evidence& evidence) {
    const Timeline timeline = timeline_of(evidence);
    const Stretch span = span_of(evidence);
    std::vector<Sight> sights;
    for (const Row& row : fold(timeline, {}, picture_bytes_most).rows) {
        const auto& slices = slices_of(timeline, row);
        const Slice* step = last_of(timeline, slices, Lane::step);
        Sight sight{row.ranks, step ? fmt::format("step {}", step->number) : "no step",
                    row_state(timeline, slices), pace_of(timeline, slices), {}};
        const auto count = static_cast<std::int64_t>(picture_columns);
        for (std::int64_t i = 0; i < count; ++i)
            sight.cells.push_back(
                letter_at(timeline, slices, span.last * i / count, span.last * (i + 1) / count));
        if (span.hangs()) sight.cells.push_back(letter_at(timeline, slices, span.last, span.until));
        sights.push_back(std::move(sight));
    }
    return sights;
}

// One row for all ranks that a reader of this table could not tell apart: the picture does not part ranks by
// what it does not draw, nor the table by what it does not say. Ranks 0-7 that end their last all_reduce
// at 1.3340 s and 1.3341 s are one row of both; a rank that computes for 160 ms where the others need 100 ms
// has its own.
template <class Alike>
std::vector<Sight> rows_of(std::vector<Sight> sights, Alike alike) {
    std::vector<Sight> rows;
    for (Sight& sight : sights) {
        const auto same =
            std::find_if(rows.begin(), rows.end(), [&](const Sight& one) { return alike(one, sight); });
        if (same == rows.end())
            rows.push_back(std::move(sight));
        else
            same->ranks.insert(same->ranks.end(), sight.ranks.begin(), sight.ranks.end());
    }
    for (Sight& row : rows) std::sort(row.ranks.begin(), row.ranks.end());
    return rows;
}

template <class Line>
void add_rows(Clue& clue, const std::vector<Sight>& sights, Line line) {
    std::size_t wide = 0;
    for (const Sight& sight : sights) wide = std::max(wide, columns_of(who_text(sight.ranks)));
    wide = std::min<std::size_t>(std::max<std::size_t>(wide, 9), 24);
    for (const Sight& sight : sights) {
        if (clue.lines.size() == rows_most) {
            clue.lines.push_back(fmt::format("… and {} more rows", sights.size() - rows_most));
            return;
        }
        clue.lines.push_back(pad_right(Style{}.cut(who_text(sight.ranks), wide), wide + 2) + line(sight));
    }
}

}  // namespace

Clue picture_clue(const Evidence& evidence) {
    const Stretch span = span_of(evidence);
    Clue clue{
        fmt::format("{} of it, then {}   ░ work  █ waiting in a call  ! in a call without end  × exited",
                    duration_text(span.last),
                    span.hangs() ? fmt::format("{} of silence", duration_text(span.until - span.last)) : "its end"),
        {}};
    const auto rows =
        rows_of(sights_of(evidence), [](const Sight& a, const Sight& b) { return a.looks_like(b); });
    add_rows(clue, rows, [&](const Sight& sight) {
        std::string line;
        for (std::size_t i = 0; i < picture_columns; ++i) line += sight.cells[i];
        if (!span.hangs()) return line;
        line += " ⋯ ";
        for (int i = 0; i < 6; ++i) line += sight.cells.back();
        return line;
    });
    return clue;
}

Clue rank_clue(const Evidence& evidence) {
    Clue clue{"what each rank did last", {}};
    const std::vector<Sight> sights =
        rows_of(sights_of(evidence), [](const Sight& a, const Sight& b) { return a.says_the_same(b); });
    const bool paced = std::any_of(sights.begin(), sights.end(),
                                   [](const Sight& sight) { return sight.pace != never; });
    add_rows(clue, sights, [&](const Sight& sight) {
        const std::string pace = sight.pace == never ? "" : "works " + duration_text(sight.pace);
        return pad_right(sight.step, 9) + (paced ? pad_right(pace, 16) : "") + sight.state;
    });
    return clue;
}

// ── Losses, replicas, and the job's own numbers.

namespace {

constexpr std::size_t steps_most = 12;
constexpr std::size_t value_lines_most = 8;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "NaN"; }

// By step: each loss as printed, with the ranks that printed it.
std::map<std::int64_t, std::map<std::string, std::vector<Rank>>> losses_of(const Evidence& evidence) {
    std::map<std::int64_t, std::map<std::string, std::vector<Rank>>> losses;
    for (const Event* event : evidence.each<StepEnd>())
        losses[event->as<StepEnd>()->step][number_text(event->as<StepEnd>()->loss)].push_back(event->rank);
    return losses;
}

template <class Losses>
std::string loss_line(const Losses& losses) {
    std::string line;
    std::size_t told = 0;
    for (const auto& [step, by_value] : losses) {
        if (told++ == steps_most) return line + " …";
        const auto most =
            std::max_element(by_value.begin(), by_value.end(),
                             [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        line += fmt::format("{}{}{}", line.empty() ? "" : "  ", most->first, by_value.size() > 1 ? "*" : "");
    }
    return line;
}

Clue loss_clue(const Evidence& evidence, const Evidence* good) {
    const auto losses = losses_of(evidence);
    if (losses.empty()) return {};
    Clue clue{"loss by step (* ranks print different values)",
              {pad_right("this run", 18) + loss_line(losses)}};
    if (good) clue.lines.push_back(pad_right("the last good run", 18) + loss_line(losses_of(*good)));
    return clue;
}

// The first step at which ranks that must hold the same data do not.
Clue replica_clue(const Evidence& evidence) {
    std::map<std::tuple<std::int64_t, std::string_view, std::string_view>,
             std::map<std::uint64_t, std::vector<Rank>>>
        digests;
    for (const Event* event : evidence.each<ParametersDigest>()) {
        const auto* what = event->as<ParametersDigest>();
        digests[{what->step, evidence.text(what->group), evidence.text(what->name)}][what->digest].push_back(
            event->rank);
    }
    for (const auto& [what, by_digest] : digests) {
        // A rank that did a step twice, since the job was started again, has two digests of it: no difference
        // between ranks.
        std::set<Rank> seen;
        bool twice = false;
        for (const auto& [digest, ranks] : by_digest) {
            for (const Rank rank : ranks) twice |= !seen.insert(rank).second;
        }
        if (by_digest.size() < 2 || twice) continue;
        const auto& [step, group, name] = what;
        Clue clue{fmt::format("{} of group {} after step {}, the first that differs between ranks", name,
                              group, step),
                  {}};
        for (const auto& [digest, ranks] : by_digest) {
            if (clue.lines.size() < value_lines_most)
                clue.lines.push_back(fmt::format("{}{:016x}", pad_right(who_text(ranks), 18), digest));
        }
        return clue;
    }
    return {};
}

// Quantities that differ from the job's own definition, or from the good run.
Clue sample_clue(const Evidence& evidence, const Evidence* good) {
    // A rank may give a number several times in a step: each is held beside its like.
    using Place = std::tuple<Rank, std::int64_t, std::string>;
    std::map<Place, std::vector<double>> then;
    std::map<Place, std::size_t> times;
    if (good) {
        for (const Event* event : good->each<ValueSample>()) {
            const auto* what = event->as<ValueSample>();
            then[{event->rank, what->step, std::string(good->text(what->name))}].push_back(what->value);
        }
    }
    std::map<std::string, std::vector<Rank>> lines;
    std::vector<std::string> order;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* what = event->as<ValueSample>();
        const std::string name(evidence.text(what->name));
        if (name == SampleName::message_wait || name == SampleName::random_state) continue;
        const Place place{event->rank, what->step, name};
        const auto found = then.find(place);
        const std::size_t nth = times[place]++;
        const double* before = found != then.end() && nth < found->second.size() ? &found->second[nth] : nullptr;
        const bool odd = std::isfinite(what->expected) && what->value != what->expected;
        const bool changed = before && *before != what->value && !(std::isnan(*before) && std::isnan(what->value));
        if (!odd && !changed) continue;
        std::string line = fmt::format("step {}  {} = {}", what->step, name, number_text(what->value));
        if (odd) line += fmt::format(", by the job's own definition {}", number_text(what->expected));
        if (changed) line += fmt::format(", in the last good run {}", number_text(*before));
        if (lines.count(line) == 0) order.push_back(line);
        lines[line].push_back(event->rank);
    }
    Clue clue{"what the job says of its numbers", {}};
    for (const std::string& line : order) {
        if (clue.lines.size() == value_lines_most) break;
        std::vector<Rank>& ranks = lines[line];
        std::sort(ranks.begin(), ranks.end());  // evidence is in order of time
        clue.lines.push_back(pad_right(Style{}.cut(who_text(ranks), 17), 18) + line);
    }
    return clue;
}

}  // namespace

std::vector<Clue> value_clues(const Evidence& evidence, const Evidence* good) {
    return {loss_clue(evidence, good), replica_clue(evidence), sample_clue(evidence, good)};
}

}  // namespace deadrank::results::reports
