// results/reports/timeline.cpp — A run as rows of slices, folded to what a page can show, and encoded for it.
#include "results/reports/timeline.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unordered_map>
#include <xxhash.h>

#include "results/record/words.h"

namespace deadrank::results::reports {

// ── Pairs begins with ends per rank. A rank's exit closes its open slices, and begins one for the time in
// which it is gone.

namespace {

std::string exit_words(const RankExit& exit) {
    if (exit.signal != 0) return fmt::format("exited (signal {})", exit.signal);
    return exit.code == 0 ? "finished" : fmt::format("exited (code {})", exit.code);
}

std::string offer_words(std::int64_t count, Dtype dtype, ReduceOp reduce, std::int32_t root) {
    std::string words = fmt::format("{} {}", count, name_of(dtype));
    if (reduce != ReduceOp::none) words += fmt::format(", {}", name_of(reduce));
    if (root >= 0) words += fmt::format(", root {}", root);
    return words;
}

class Slicer {
public:
    explicit Slicer(const Evidence& evidence) : evidence_(evidence) {
        const auto ranks = static_cast<std::size_t>(std::max(evidence.world_size(), 0));
        line_.ranks.resize(ranks);
        open_.resize(ranks);
    }

    Timeline take() {
        for (const Event& event : evidence_.events()) {
            if (event.rank < 0 || static_cast<std::size_t>(event.rank) >= line_.ranks.size()) continue;
            at_ = event.at;
            rank_ = static_cast<std::size_t>(event.rank);
            std::visit([&](const auto& payload) { see(payload); }, event.what);
        }
        return std::move(line_);
    }

private:
    // A slice that is still open: the same payload may be open several times, told apart by two numbers.
    struct Open {
        std::uint8_t what;
        std::int64_t a, b;
        std::size_t slice;
    };
    enum : std::uint8_t { step, phase, collective, p2p, meeting, init, gone };

    std::uint32_t kind(SliceKind wanted) {
        const auto key = std::tuple(wanted.lane, wanted.group, wanted.label, wanted.detail, wanted.series);
        const auto [found, fresh] = known_.try_emplace(key, line_.kinds.size());
        if (fresh) line_.kinds.push_back(std::move(wanted));
        return static_cast<std::uint32_t>(found->second);
    }
    void begin(std::uint8_t what, std::int64_t a, std::int64_t b, SliceKind wanted, std::int64_t number,
               CommId comm = 0) {
        open_[rank_].push_back({what, a, b, line_.ranks[rank_].size()});
        line_.ranks[rank_].push_back({kind(std::move(wanted)), comm, number, at_, never});
    }
    std::uint32_t series_of(CommId comm) {
        return 2 +
               static_cast<std::uint32_t>(series_.try_emplace(comm_name(comm), series_.size()).first->second);
    }
    void end(std::uint8_t what, std::int64_t a, std::int64_t b, Code result = Code::ok) {
        auto& open = open_[rank_];
        const auto found = std::find_if(open.begin(), open.end(), [&](const Open& one) {
            return one.what == what && one.a == a && one.b == b;
        });
        if (found == open.end()) return;
        Slice& slice = line_.ranks[rank_][found->slice];
        slice.end = at_;
        if (result != Code::ok) slice.kind = failed(slice.kind, name_of(result));
        open.erase(found);
    }
    std::uint32_t failed(std::uint32_t kind_before, std::string_view why) {
        SliceKind wanted = line_.kinds[kind_before];
        wanted.group = SliceGroup::error;
        wanted.detail += fmt::format("{}{}", wanted.detail.empty() ? "" : ", ", why);
        return kind(std::move(wanted));
    }
    void instant(SliceGroup group, std::string label, std::string detail, std::int64_t number = 0) {
        line_.ranks[rank_].push_back(
            {kind({Lane::instant, group, std::move(label), std::move(detail)}), 0, number, at_, at_});
    }
    std::string comm_name(CommId comm) const {
        const auto found = names_.find(comm);
        return found == names_.end() ? fmt::format("communicator {}", comm) : found->second;
    }
    std::string text(TextId id) const { return std::string(evidence_.text(id)); }

    void see(const StepBegin& what) {
        begin(step, what.step, 0, {Lane::step, SliceGroup::step, "step", ""}, what.step);
    }
    void see(const StepEnd& what) { end(step, what.step, 0); }
    void see(const PhaseBegin& what) {
        const std::string name(name_of(what.phase));
        begin(phase, what.step, static_cast<std::int64_t>(what.phase),
              {Lane::work, SliceGroup::phase, name, "", 0, what.phase}, what.step);
    }
    void see(const PhaseEnd& what) { end(phase, what.step, static_cast<std::int64_t>(what.phase)); }
    void see(const RendezvousEnter& what) {
        begin(meeting, 0, 0,
              {Lane::call, SliceGroup::meeting, "rendezvous", fmt::format("expects {}", what.expected), 1},
              0);
    }
    void see(const RendezvousLeave& what) { end(meeting, 0, 0, what.result); }
    void see(const CommInitEnter& what) {
        names_.try_emplace(what.comm, text(what.name));
        begin(init, what.comm, 0,
              {Lane::call, SliceGroup::meeting, "comm_init of " + comm_name(what.comm),
               fmt::format("{} members", what.size), 1},
              0, what.comm);
    }
    void see(const CommInitLeave& what) { end(init, what.comm, 0, what.result); }
    void see(const CollectiveEnter& what) {
        begin(collective, what.comm, what.seq,
              {Lane::call, SliceGroup::collective,
               fmt::format("{} of {}", name_of(what.op), comm_name(what.comm)),
               offer_words(what.count, what.dtype, what.reduce, what.root), series_of(what.comm)},
              what.seq, what.comm);
    }
    void see(const CollectiveLeave& what) { end(collective, what.comm, what.seq, what.result); }
    void see(const P2pEnter& what) {
        begin(p2p, what.comm, what.seq * 2 + (what.op == Op::send),
              {Lane::call, SliceGroup::p2p,
               fmt::format("{} {} {} of {}", name_of(what.op), what.op == Op::send ? "to" : "from", what.peer,
                           comm_name(what.comm)),
               offer_words(what.count, what.dtype, ReduceOp::none, -1), series_of(what.comm)},
              what.seq, what.comm);
    }
    void see(const P2pLeave& what) { end(p2p, what.comm, what.seq * 2 + (what.op == Op::send), what.result); }
    void see(const RankStart&) { end(gone, 0, 0); }
    void see(const RankExit& what) {
        for (const Open& one : open_[rank_]) line_.ranks[rank_][one.slice].end = at_;
        open_[rank_].clear();
        const bool well = what.code == 0 && what.signal == 0;
        begin(gone, 0, 0, {Lane::work, well ? SliceGroup::finished : SliceGroup::gone, exit_words(what), ""},
              0);
    }
    void see(const CheckpointSave& what) {
        instant(what.result == Code::ok ? SliceGroup::checkpoint : SliceGroup::error, "checkpoint saved",
                fmt::format("{}, {}", text(what.path), name_of(what.result)), what.step);
    }
    void see(const CheckpointLoad& what) {
        instant(what.result == Code::ok ? SliceGroup::checkpoint : SliceGroup::error, "checkpoint loaded",
                fmt::format("{}, {}", text(what.path), name_of(what.result)), what.step);
    }
    void see(const CommError& what) {
        instant(SliceGroup::error, "error of " + comm_name(what.comm), std::string(name_of(what.code)));
    }
    void see(const CommAbort& what) { instant(SliceGroup::error, "abort of " + comm_name(what.comm), ""); }
    void see(const DeviceError& what) {
        instant(SliceGroup::error, fmt::format("Xid {}", what.xid), text(what.message));
    }
    void see(const MemoryOom& what) { instant(SliceGroup::error, "out of memory", text(what.where)); }
    void see(const PackageLoad& what) {
        if (what.result != Code::ok)
            instant(SliceGroup::error, text(what.name) + " failed to load", text(what.problem));
    }
    template <class Other>
    void see(const Other&) {}

    const Evidence& evidence_;
    Timeline line_;
    std::vector<std::vector<Open>> open_;  // by rank
    std::map<CommId, std::string> names_;
    std::map<std::string, std::size_t> series_;  // by a communicator's name
    std::map<std::tuple<Lane, SliceGroup, std::string, std::string, std::uint32_t>, std::size_t> known_;
    Time at_{0};
    std::size_t rank_ = 0;
};

}  // namespace

std::string_view SliceKind::colour() const {
    return group == SliceGroup::phase ? name_of(phase) : scenarios::enum_name(group);
}

Timeline timeline_of(const Evidence& evidence) { return Slicer(evidence).take(); }

// ── Ranks with the same slices share a row if no time differs by more than the tolerance.

namespace {

constexpr std::size_t bytes_per_slice = 7;  // generous estimate for one encoded slice
constexpr std::size_t rows_compared_most = 64;    // with one rank; bounds the work with 1,024 different ranks
constexpr std::int64_t picture_resolution = 2'000;  // busy time / this: the shortest that a picture can show

// By kind of slice, the first kind that is the same deed: ranks that save files of their own did the same.
std::vector<std::uint32_t> deeds_by_kind(const std::vector<SliceKind>& kinds) {
    std::vector<std::uint32_t> deeds;
    std::map<std::string, std::uint32_t> known;
    for (const SliceKind& kind : kinds) {
        const auto own = static_cast<std::uint32_t>(deeds.size());
        deeds.push_back(kind.group == SliceGroup::checkpoint && kind.lane == Lane::instant
                            ? known.try_emplace(kind.label, own).first->second
                            : own);
    }
    return deeds;
}

// What was done, not when.
std::uint64_t hash_of_deeds(const std::vector<Slice>& slices, const std::vector<std::uint32_t>& deeds,
                            std::vector<std::int64_t>& words) {
    words.clear();
    for (const Slice& slice : slices) {
        words.push_back(deeds[slice.kind]);
        words.push_back(slice.number);
        words.push_back(slice.end == never ? 1 : 0);
    }
    return XXH3_64bits(words.data(), words.size() * sizeof(std::int64_t));
}

bool within(Time one, Time other, Time tolerance) {
    return tolerance == never || one == other ||
           (one != never && other != never && std::chrono::abs(one - other) <= tolerance);
}

bool same_times(const std::vector<Slice>& one, const std::vector<Slice>& other, Time tolerance) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [&](const Slice& a, const Slice& b) {
                          return within(a.begin, b.begin, tolerance) && within(a.end, b.end, tolerance);
                      });
}

// Up to the begin of the last slice.
Time busy_time(const Timeline& timeline) {
    Time last{0};
    for (const auto& slices : timeline.ranks) {
        if (!slices.empty()) last = std::max(last, slices.back().begin);
    }
    return last;
}

std::vector<Row> rows_at(const Timeline& timeline, const std::set<Rank>& apart, Time tolerance) {
    std::vector<Row> rows;
    std::map<std::uint64_t, std::vector<std::size_t>> alike;  // by deeds: rows
    std::vector<std::int64_t> words;
    const std::vector<std::uint32_t> deeds = deeds_by_kind(timeline.kinds);
    const auto slices_of_row = [&](std::size_t row) -> const std::vector<Slice>& {
        return timeline.ranks[static_cast<std::size_t>(rows[row].ranks.front())];
    };
    for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
        const auto rank = static_cast<Rank>(i);
        if (apart.count(rank) > 0) {
            rows.push_back({{rank}});
            continue;
        }
        std::vector<std::size_t>& known = alike[hash_of_deeds(timeline.ranks[i], deeds, words)];
        const std::size_t first = known.size() - std::min(known.size(), rows_compared_most);
        const auto found = std::find_if(known.begin() + static_cast<std::ptrdiff_t>(first), known.end(),
                                        [&](std::size_t row) {
                                            return same_times(slices_of_row(row), timeline.ranks[i], tolerance);
                                        });
        if (found != known.end()) {
            rows[*found].ranks.push_back(rank);
        } else {
            known.push_back(rows.size());
            rows.push_back({{rank}});
        }
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

// Too many rows even without times: those with most ranks stay, and those of `apart` in any case.
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
    static constexpr std::array<Time, 6> tolerances = {10us, 100us, 1ms, 10ms, 100ms, never};
    Folded folded;
    const auto try_with = [&](Time tolerance) {
        folded.rows = rows_at(timeline, apart, tolerance);
        folded.tolerance = tolerance;
        return bytes_of(timeline, folded.rows) <= bytes_most;
    };
    // What no picture shows is not told apart, however few the rows.
    const Time unseen = std::max<Time>(1us, busy_time(timeline) / picture_resolution);
    if (try_with(unseen)) return folded;
    for (const Time tolerance : tolerances) {
        if (tolerance > unseen && try_with(tolerance)) return folded;
    }
    cut(folded, timeline, apart, bytes_most);
    return folded;
}

// ── Shapes are found by their own bytes: equal bytes, equal shape.

namespace {

void put(std::string& bytes, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(0x80 | (number & 0x7f)));
    bytes.push_back(static_cast<char>(number));
}

void put_signed(std::string& bytes, std::int64_t number) {
    put(bytes, (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
}

std::int64_t micros(Time time) { return time.count() / 1'000; }

std::string shape_of(const std::vector<Slice>& slices, const std::vector<SliceKind>& kinds) {
    std::string bytes;
    std::map<std::uint32_t, std::int64_t> last;  // by series
    put(bytes, slices.size());
    for (const Slice& slice : slices) {
        std::int64_t& before = last[kinds[slice.kind].series];
        put(bytes, slice.kind);
        put_signed(bytes, slice.number - before);
        before = slice.number;
    }
    return bytes;
}

}  // namespace

EncodedRows encode(const Timeline& timeline, const std::vector<Row>& rows) {
    std::string shapes, times;
    std::unordered_map<std::string, std::size_t> known;
    for (const Row& row : rows) {
        const auto& slices = timeline.ranks[static_cast<std::size_t>(row.ranks.front())];
        const std::string shape = shape_of(slices, timeline.kinds);
        const auto [found, fresh] = known.try_emplace(shape, known.size());
        if (fresh) shapes += shape;
        put(times, found->second);
        std::int64_t before = 0;
        for (const Slice& slice : slices) {
            const std::int64_t begin = micros(slice.begin);
            put(times, static_cast<std::uint64_t>(begin - before));
            put(times, slice.end == never ? 0 : 1 + static_cast<std::uint64_t>(micros(slice.end) - begin));
            before = begin;
        }
    }
    std::string count;
    put(count, known.size());
    return {base64(count + shapes), base64(times)};
}

std::string base64(std::string_view bytes) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t block = 0;
        for (std::size_t j = 0; j < 3; ++j)
            block = block << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j)
            text.push_back(i + j > bytes.size() ? '=' : digits[block >> (18 - 6 * j) & 63]);
    }
    return text;
}

}  // namespace deadrank::results::reports
