// results/reports/slices.cpp — Begins are paired with ends per rank; a rank's exit closes what it
// had open, and opens the time in which it is gone.
#include "results/reports/slices.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "results/text/words.h"

namespace deadrank::results::reports {

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
    // What closes a slice: the same payload may be open several times, told apart by two numbers.
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
        wanted.group = "error";
        wanted.detail += fmt::format("{}{}", wanted.detail.empty() ? "" : ", ", why);
        return kind(std::move(wanted));
    }
    void instant(std::string group, std::string label, std::string detail, std::int64_t number = 0) {
        line_.ranks[rank_].push_back(
            {kind({Lane::instant, std::move(group), std::move(label), std::move(detail)}), 0, number, at_,
             at_});
    }
    std::string comm_name(CommId comm) const {
        const auto found = names_.find(comm);
        return found == names_.end() ? fmt::format("communicator {}", comm) : found->second;
    }
    std::string text(TextId id) const { return std::string(evidence_.text(id)); }

    void see(const StepBegin& what) {
        begin(step, what.step, 0, {Lane::step, "step", "step", ""}, what.step);
    }
    void see(const StepEnd& what) { end(step, what.step, 0); }
    void see(const PhaseBegin& what) {
        const std::string name(name_of(what.phase));
        begin(phase, what.step, static_cast<std::int64_t>(what.phase), {Lane::work, name, name, ""},
              what.step);
    }
    void see(const PhaseEnd& what) { end(phase, what.step, static_cast<std::int64_t>(what.phase)); }
    void see(const RendezvousEnter& what) {
        begin(meeting, 0, 0,
              {Lane::call, "meeting", "rendezvous", fmt::format("expects {}", what.expected), 1}, 0);
    }
    void see(const RendezvousLeave& what) { end(meeting, 0, 0, what.result); }
    void see(const CommInitEnter& what) {
        names_.try_emplace(what.comm, text(what.name));
        begin(init, what.comm, 0,
              {Lane::call, "meeting", "comm_init of " + comm_name(what.comm),
               fmt::format("{} members", what.size), 1},
              0, what.comm);
    }
    void see(const CommInitLeave& what) { end(init, what.comm, 0, what.result); }
    void see(const CollectiveEnter& what) {
        begin(collective, what.comm, what.seq,
              {Lane::call, "collective", fmt::format("{} of {}", name_of(what.op), comm_name(what.comm)),
               offer_words(what.count, what.dtype, what.reduce, what.root), series_of(what.comm)},
              what.seq, what.comm);
    }
    void see(const CollectiveLeave& what) { end(collective, what.comm, what.seq, what.result); }
    void see(const P2pEnter& what) {
        begin(p2p, what.comm, what.seq * 2 + (what.op == Op::send),
              {Lane::call, "p2p",
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
        begin(gone, 0, 0, {Lane::work, well ? "finished" : "gone", exit_words(what), ""}, 0);
    }
    void see(const CheckpointSave& what) {
        instant(what.result == Code::ok ? "checkpoint" : "error", "checkpoint saved",
                fmt::format("{}, {}", text(what.path), name_of(what.result)), what.step);
    }
    void see(const CheckpointLoad& what) {
        instant(what.result == Code::ok ? "checkpoint" : "error", "checkpoint loaded",
                fmt::format("{}, {}", text(what.path), name_of(what.result)), what.step);
    }
    void see(const CommError& what) {
        instant("error", "error of " + comm_name(what.comm), std::string(name_of(what.code)));
    }
    void see(const CommAbort& what) { instant("error", "abort of " + comm_name(what.comm), ""); }
    void see(const DeviceError& what) {
        instant("error", fmt::format("Xid {}", what.xid), text(what.message));
    }
    void see(const MemoryOom& what) { instant("error", "out of memory", text(what.where)); }
    void see(const PackageLoad& what) {
        if (what.result != Code::ok)
            instant("error", text(what.name) + " failed to load", text(what.problem));
    }
    template <class Other>
    void see(const Other&) {}

    const Evidence& evidence_;
    Timeline line_;
    std::vector<std::vector<Open>> open_;  // by rank
    std::map<CommId, std::string> names_;
    std::map<std::string, std::size_t> series_;  // by a communicator's name
    std::map<std::tuple<Lane, std::string, std::string, std::string, std::uint32_t>, std::size_t> known_;
    Time at_{0};
    std::size_t rank_ = 0;
};

}  // namespace

Timeline timeline_of(const Evidence& evidence) { return Slicer(evidence).take(); }

}  // namespace deadrank::results::reports
