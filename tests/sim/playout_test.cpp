// tests/sim/playout_test.cpp — Played out chunk by chunk, an undisturbed collective takes what the closed
// form says, to the nanosecond; a disturbed one takes what a clock that ticks every nanosecond finds.
#include "sim/collectives/playout.h"

#include <gmock/gmock.h>
#include <map>
#include <numeric>

#include "sim/engine/rng.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::never;
using results::Op;
using testing::Each;
using testing::Eq;

constexpr std::int64_t gigabit = 1'000'000'000;

class FewLinks final : public Links {
public:
    explicit FewLinks(const RingCost& ring = {}, bool spelled_out = false)
        : ring_(ring), spelled_out_(spelled_out) {}
    FewLinks& with(Rank from, Rank to, LinkHistory history) {
        known_[{from, to}] = std::move(history);
        return *this;
    }
    LinkHistory between(Rank from, Rank to) const override {
        if (const auto found = known_.find({from, to}); found != known_.end()) return found->second;
        if (spelled_out_) return {{.bandwidth = ring_.bandwidth, .latency = ring_.latency_max}};
        return {};
    }

private:
    RingCost ring_;
    bool spelled_out_;
    std::map<std::pair<Rank, Rank>, LinkHistory> known_;
};

RingCost ring_of(Topology topology, const ClusterSettings& settings, Rank size) {
    RingCost ring{.size = size};
    const auto place = [&](Rank rank) {
        return DevicePlace{rank / settings.gpus_per_node, rank % settings.gpus_per_node};
    };
    for (Rank rank = 0; rank < size; ++rank) ring.add(topology.hop(place(rank), place((rank + 1) % size)));
    return ring;
}

RingCost even_ring(Rank size, Time latency = 5us, std::int64_t bandwidth = 100 * gigabit) {
    RingCost ring{.size = size};
    for (Rank i = 0; i < size; ++i) ring.add({i, i + 1, latency, bandwidth});
    return ring;
}

TEST(Playout, UndisturbedItTakesWhatTheClosedFormSaysToTheNanosecond) {
    int compared = 0;
    for (const TopologyKind kind :
         {TopologyKind::single_switch, TopologyKind::rails, TopologyKind::leaf_spine}) {
        for (const Rank size : {2, 3, 5, 8, 12, 17, 31, 64}) {
            ClusterSettings settings;
            settings.nodes = 16;
            settings.topology = kind;
            settings.link_latency = Time{4'999};
            const RingCost ring = ring_of(Topology(settings), settings, size);
            for (const std::int64_t bytes : {4, 1'000, 65'537, 10'000'001}) {
                for (const Op op : {Op::all_reduce, Op::barrier, Op::all_gather, Op::reduce_scatter,
                                    Op::all_to_all, Op::broadcast, Op::reduce}) {
                    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
                        const Course course{op, bytes, size - 1, algorithm, ring};
                        const Time closed = collective_time(op, bytes, ring, algorithm);
                        EXPECT_THAT(play_out(course, FewLinks()).ends, Each(Eq(closed)))
                            << results::name_of(op) << ' ' << size << ' ' << bytes;
                        EXPECT_THAT(play_out(course, FewLinks(ring, true)).ends, Each(Eq(closed)))
                            << results::name_of(op) << ' ' << size << ' ' << bytes << " spelled out";
                        ++compared;
                    }
                }
            }
        }
    }
    EXPECT_EQ(compared, 3 * 8 * 4 * 7 * 2);
}

TEST(Playout, WhereAllLinksAreSlowerItIsTheClosedFormOfSlowerLinks) {
    const RingCost usual = even_ring(8), slower = even_ring(8, 5us, 25 * gigabit);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
        const Course course{Op::all_reduce, 1 << 20, -1, algorithm, usual};
        EXPECT_THAT(play_out(course, FewLinks(slower, true)).ends,
                    Each(Eq(collective_time(Op::all_reduce, 1 << 20, slower, algorithm))));
    }
}

// Every round passes the slow link, and while one message is on it the others have all moved.
TEST(Playout, OneSlowLinkHoldsUpEachRoundOnce) {
    const Rank size = 8;
    const std::int64_t chunk = 1 << 20;
    const Course course{Op::all_reduce, size * chunk, -1, Algorithm::ring, even_ring(size)};
    FewLinks links;
    links.with(2, 3, {{.bandwidth = 25 * gigabit, .latency = 5us}});
    const PlayoutResult played = play_out(course, links);
    EXPECT_EQ(*std::max_element(played.ends.begin(), played.ends.end()),
              kernel_launch + 14 * time_of(chunk, 25 * gigabit) + 5us);
    EXPECT_EQ(played.ends[3], *std::max_element(played.ends.begin(), played.ends.end()));
    EXPECT_LT(played.ends[4], played.ends[3]) << "who is further from it is done earlier";
}

TEST(Playout, LatencyOnOneLinkIsPaidByWhatCrossesIt) {
    const Rank size = 4;
    const RingCost ring = even_ring(size);
    FewLinks links;
    links.with(0, 1, {{.bandwidth = 100 * gigabit, .latency = 5us, .extra_latency = 1ms}});
    const Course ring_course{Op::all_reduce, 4, -1, Algorithm::ring, ring};
    const auto longest = [](const PlayoutResult& played) {
        return *std::max_element(played.ends.begin(), played.ends.end());
    };
    // Six rounds of a ring of four: a message crosses any one link twice at most.
    EXPECT_EQ(longest(play_out(ring_course, links)),
              collective_time(Op::all_reduce, 4, ring, Algorithm::ring) + 2ms);
    const Course chain{Op::broadcast, 4, 1, Algorithm::ring, ring};
    EXPECT_EQ(longest(play_out(chain, links)), collective_time(Op::broadcast, 4, ring))
        << "a chain that begins behind the link does not cross it";
}

TEST(Playout, ADeadLinkStopsThoseBehindItAndNamesWhoSends) {
    const Course chain{Op::broadcast, 1 << 20, 0, Algorithm::ring, even_ring(4)};
    FewLinks links;
    links.with(1, 2, {{.bandwidth = 100 * gigabit, .latency = 5us}, {.since = 10us, .down = true}});
    const PlayoutResult played = play_out(chain, links);
    EXPECT_EQ(played.stalled, 1);
    EXPECT_EQ(played.towards, 2);
    EXPECT_EQ(played.ends[0], collective_time(Op::broadcast, 1 << 20, even_ring(4)))
        << "the root has sent all there is";
    EXPECT_EQ(played.ends[2], never);
    EXPECT_EQ(played.ends[3], never);
    const FewLinks comes_back = FewLinks(links).with(
        1, 2, {{.since = 0us, .down = true}, {.since = 1s, .bandwidth = 100 * gigabit, .latency = 5us}});
    EXPECT_GT(play_out(chain, comes_back).ends[3], 1s);
    EXPECT_EQ(play_out(chain, comes_back).stalled, -1);
}

TEST(Playout, LossCostsWhatTheExpectedNumberOfPacketsCosts) {
    const std::int64_t chunk = 1 << 20, loss = 10'000'000;
    const RingCost ring = even_ring(4);
    const Course course{Op::all_reduce, 4 * chunk, -1, Algorithm::ring, ring};
    FewLinks links;
    links.with(3, 0, {{.bandwidth = 100 * gigabit, .latency = 5us, .loss_ppb = loss}});
    const Time lost = resending_time(expected_resent(6 * chunk, loss), 5us, 100 * gigabit);
    const Time took = play_out(course, links).ends[0];
    const Time usual = collective_time(Op::all_reduce, 4 * chunk, ring, Algorithm::ring);
    EXPECT_GE(took, usual + lost - 6 * 5us);
    EXPECT_LE(took, usual + lost);
}

// The same ring, by brute force: a clock that ticks, members that hold messages, links that move thousandths
// of a message.
std::vector<Time> by_ticking(const Course& course, const FewLinks& links, Rank rounds) {
    const auto size = static_cast<std::size_t>(course.ring.size);
    const double pace =
        static_cast<double>(time_of(course.bytes / course.ring.size, course.ring.bandwidth).count());
    const Time hop = course.ring.latency_sum / course.ring.size;
    std::vector<std::map<Rank, Time>> there(size);  // by round: when what it needs to send it has come
    std::vector<Rank> sending(size, 0);
    std::vector<double> done(size, 0);
    std::vector<Time> ends(size, never);
    for (std::size_t i = 0; i < size; ++i) there[i][0] = kernel_launch;
    std::size_t finished = 0;
    for (Time now = kernel_launch; finished < size && now < 1s; now += 1ns) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto come = there[i].find(sending[i]);
            if (sending[i] == rounds && ends[i] == never && come != there[i].end() && come->second <= now) {
                ends[i] = now;
                ++finished;
            }
            if (sending[i] == rounds || come == there[i].end() || come->second > now) continue;
            const LinkHistory history =
                links.between(static_cast<Rank>(i), static_cast<Rank>((i + 1) % size));
            const double share = history.empty()
                                     ? 1.0
                                     : std::min(1.0, static_cast<double>(phase_at(history, now).bandwidth) /
                                                         static_cast<double>(course.ring.bandwidth));
            done[i] += share;
            if (done[i] < pace) continue;
            done[i] = 0;
            const Time extra = history.empty() ? Time{0} : phase_at(history, now).extra_latency;
            there[(i + 1) % size][++sending[i]] = now + 1ns + hop + extra;
        }
    }
    return ends;
}

TEST(Playout, LinksThatChangeOnTheWayAgreeWithAClockThatTicks) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Chance chance(Seed{seed}, {}, "playout");
        const auto size = static_cast<Rank>(2 + chance.below(0, 5));
        const Course course{Op::all_reduce, size * 4'000, -1, Algorithm::ring, even_ring(size, 500ns)};
        FewLinks links;
        std::uint64_t n = 1;
        for (Rank link = 0; link < size; ++link) {
            if (chance.ratio(n++, 1, 2)) continue;
            LinkHistory history;
            Time when{0};
            for (int phase = 0; phase < 4; ++phase) {
                const auto bandwidth = static_cast<std::int64_t>(chance.below(n++, 5)) * 25 * gigabit;
                history.push_back({.since = when,
                                   .bandwidth = phase == 3 ? 100 * gigabit : bandwidth,
                                   .latency = 500ns,
                                   .down = bandwidth == 0});
                when += Time(static_cast<std::int64_t>(100 + chance.below(n++, 6'000)));
            }
            links.with(link, (link + 1) % size, history);
        }
        const PlayoutResult played = play_out(course, links);
        const std::vector<Time> ticked = by_ticking(course, links, 2 * (size - 1));
        for (std::size_t i = 0; i < played.ends.size(); ++i) {
            EXPECT_NEAR(static_cast<double>(played.ends[i].count()), static_cast<double>(ticked[i].count()),
                        100)
                << "seed " << seed << ", member " << i << " of " << size;
        }
    }
}

}  // namespace
}  // namespace deadrank::sim
