// results/reports/fold.cpp — Rows are told apart by a hash over their slices with rounded times.
#include "results/reports/fold.h"

#include <algorithm>
#include <array>
#include <map>
#include <xxhash.h>

namespace deadrank::results::reports {

namespace {

constexpr std::size_t bytes_per_slice = 7;  // what an encoded slice takes, generously
constexpr std::size_t rows_read_with_ease = 40;
constexpr std::int64_t least_visible = 10'000;  // of the time in which things happen, what a picture can show

std::int64_t rounded(Time time, Time tolerance) {
    if (time == never) return -1;
    return tolerance == never ? 0 : time / std::max(tolerance, Time{1});
}

std::uint64_t look_of(const std::vector<Slice>& slices, Time tolerance, std::vector<std::int64_t>& words) {
    words.clear();
    for (const Slice& slice : slices) {
        words.push_back(slice.kind);
        words.push_back(slice.number);
        words.push_back(rounded(slice.begin, tolerance));
        words.push_back(rounded(slice.end, tolerance));
    }
    return XXH3_64bits(words.data(), words.size() * sizeof(std::int64_t));
}

// From the first slice that begins to the last.
Time busy_time(const Timeline& timeline) {
    Time last{0};
    for (const auto& slices : timeline.ranks) {
        if (!slices.empty()) last = std::max(last, slices.back().begin);
    }
    return last;
}

std::vector<Row> rows_at(const Timeline& timeline, const std::set<Rank>& apart, Time tolerance) {
    std::vector<Row> rows;
    std::map<std::pair<std::uint64_t, Rank>, std::size_t> known;
    std::vector<std::int64_t> words;
    for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
        const auto rank = static_cast<Rank>(i);
        const auto key =
            std::pair(look_of(timeline.ranks[i], tolerance, words), apart.count(rank) > 0 ? rank : no_rank);
        const auto [found, fresh] = known.try_emplace(key, rows.size());
        if (fresh) rows.emplace_back();
        rows[found->second].ranks.push_back(rank);
    }
    return rows;
}

std::size_t bytes_of(const Timeline& timeline, const Row& row) {
    return 16 + bytes_per_slice * timeline.ranks[static_cast<std::size_t>(row.ranks.front())].size();
}

std::size_t bytes_of(const Timeline& timeline, const std::vector<Row>& rows) {
    std::size_t bytes = 0;
    for (const Row& row : rows) bytes += bytes_of(timeline, row);
    return bytes;
}

// Even by what they did, too many: the rows of most ranks stay, and those that must.
void cut(Folded& folded, const Timeline& timeline, const std::set<Rank>& apart, std::size_t bytes_most) {
    const auto weight = [&](const Row& row) {
        return apart.count(row.ranks.front()) > 0 ? timeline.ranks.size() + 1 : row.ranks.size();
    };
    std::stable_sort(folded.rows.begin(), folded.rows.end(),
                     [&](const Row& a, const Row& b) { return weight(a) > weight(b); });
    std::size_t bytes = 0, kept = 0;
    while (kept < folded.rows.size() &&
           (bytes < bytes_most || weight(folded.rows[kept]) > timeline.ranks.size()))
        bytes += bytes_of(timeline, folded.rows[kept++]);
    for (std::size_t i = kept; i < folded.rows.size(); ++i) {
        folded.left_out.insert(folded.left_out.end(), folded.rows[i].ranks.begin(),
                               folded.rows[i].ranks.end());
    }
    folded.rows.resize(kept);
    std::sort(folded.left_out.begin(), folded.left_out.end());
    std::sort(folded.rows.begin(), folded.rows.end(),
              [](const Row& a, const Row& b) { return a.ranks.front() < b.ranks.front(); });
}

}  // namespace

Folded fold(const Timeline& timeline, const std::set<Rank>& apart, std::size_t bytes_most) {
    using namespace std::chrono_literals;
    static constexpr std::array<Time, 7> tolerances = {1us, 10us, 100us, 1ms, 10ms, 100ms, never};
    const Time seen = busy_time(timeline) / least_visible;
    Folded folded;
    for (const Time tolerance : tolerances) {
        folded.rows = rows_at(timeline, apart, tolerance);
        folded.tolerance = tolerance;
        const bool fits = bytes_of(timeline, folded.rows) <= bytes_most;
        if (fits && (folded.rows.size() <= rows_read_with_ease || tolerance >= seen)) return folded;
    }
    cut(folded, timeline, apart, bytes_most);
    return folded;
}

}  // namespace deadrank::results::reports
