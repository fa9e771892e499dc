// tests/results/evidence_builder.h — Evidence written by hand, in the order of a story: who did what, then
// what. A builder is born with a healthy start: job.start, rank.start with the launcher's environment, one
// world.
#pragma once

#include <chrono>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::tests {

using namespace std::chrono_literals;
using namespace deadrank::results;

class EvidenceBuilder {
public:
    explicit EvidenceBuilder(Rank ranks, Rank per_node = 4) : ranks_(ranks), per_node_(per_node) {
        add(no_rank,
            JobStart{
                .world_size = ranks, .nodes = (ranks + per_node - 1) / per_node, .gpus_per_node = per_node});
    }

    // The launcher starts everybody. Change `environment` or `versions` of single ranks before.
    EvidenceBuilder& start() {
        for (Rank rank = 0; rank < ranks_; ++rank) start(rank, environment(rank));
        return *this;
    }
    EvidenceBuilder& start(Rank rank, const std::string& environment,
                           const std::string& versions = sound_versions) {
        return add(rank, RankStart{.pid = 1000 + rank,
                                   .node = rank / per_node_,
                                   .gpu = rank % per_node_,
                                   .host = text(fmt::format("node{}", rank / per_node_)),
                                   .versions = text(versions),
                                   .environment = text(environment)});
    }
    std::string environment(Rank rank, const std::string& more = "") const {
        return fmt::format(
            "RANK={}\nWORLD_SIZE={}\nLOCAL_RANK={}\nLOCAL_WORLD_SIZE={}\nMASTER_ADDR=node0\n"
            "MASTER_PORT=29500{}{}",
            rank, ranks_, rank % per_node_, per_node_, more.empty() ? "" : "\n", more);
    }

    // Everybody meets and makes communicator 1 over all ranks.
    EvidenceBuilder& world() {
        for (Rank rank = 0; rank < ranks_; ++rank) rendezvous(rank, rank, ranks_);
        return comm(1, "world", everybody());
    }
    EvidenceBuilder& rendezvous(Rank process, Rank claims, Rank expected) {
        add(process, RendezvousEnter{claims, expected, text("node0:29500")});
        return add(process, RendezvousLeave{expected, Code::ok});
    }
    EvidenceBuilder& comm(CommId id, const std::string& name, const std::vector<Rank>& members) {
        for (std::size_t i = 0; i < members.size(); ++i)
            joins(members[i], id, name, members, static_cast<Rank>(i));
        for (const Rank rank : members) add(rank, CommInitLeave{id, Code::ok, text("NET/IB")});
        return *this;
    }
    EvidenceBuilder& joins(Rank rank, CommId id, const std::string& name, const std::vector<Rank>& members,
                           Rank place) {
        std::string list;
        for (const Rank member : members) list += (list.empty() ? "" : ",") + std::to_string(member);
        return add(rank, CommInitEnter{id, static_cast<std::int32_t>(members.size()), place, text(name),
                                       text(list)});
    }

    EvidenceBuilder& enters(Rank rank, CommId comm, std::int64_t seq, Op op = Op::all_reduce,
                            std::int64_t count = 1024, Dtype dtype = Dtype::f32, std::int32_t root = -1,
                            ReduceOp reduce = ReduceOp::sum) {
        return add(rank, CollectiveEnter{comm, seq, count, root, op, dtype, reduce});
    }
    EvidenceBuilder& leaves(Rank rank, CommId comm, std::int64_t seq, Op op = Op::all_reduce) {
        return add(rank, CollectiveLeave{comm, seq, op, Code::ok});
    }
    // All of them enter, all of them leave `lasts` later.
    EvidenceBuilder& collective(CommId comm, std::int64_t seq, const std::vector<Rank>& members,
                                Op op = Op::all_reduce, Time lasts = 1ms) {
        for (const Rank rank : members) enters(rank, comm, seq, op);
        after(lasts);
        for (const Rank rank : members) leaves(rank, comm, seq, op);
        return *this;
    }
    // One whole healthy step of everybody: compute, one all-reduce, the same loss.
    EvidenceBuilder& step(std::int64_t number, double loss = 1.0, Time compute = 100ms) {
        for (const Rank rank : everybody()) add(rank, StepBegin{number});
        after(compute);
        collective(1, ++seq_, everybody());
        for (const Rank rank : everybody()) add(rank, StepEnd{number, loss, 1.0});
        return *this;
    }
    EvidenceBuilder& log(Rank rank, const std::string& line, int level = 2) {
        return add(rank, RankLog{level, text(line)});
    }
    EvidenceBuilder& exits(Rank rank, int code, int signal = 0) { return add(rank, RankExit{code, signal}); }
    EvidenceBuilder& all_exit() {
        for (const Rank rank : everybody()) exits(rank, 0);
        return add(no_rank, JobStop{});
    }

    EvidenceBuilder& add(Rank rank, const Payload& what) {
        evidence_.record({now_, rank, what});
        return *this;
    }
    EvidenceBuilder& after(Time duration) {
        now_ += duration;
        return *this;
    }
    TextId text(const std::string& words) { return evidence_.text(words); }
    std::int64_t seq() const { return seq_; }
    std::vector<Rank> everybody() const {
        std::vector<Rank> all;
        for (Rank rank = 0; rank < ranks_; ++rank) all.push_back(rank);
        return all;
    }
    std::vector<Rank> everybody_but(Rank absent) const {
        std::vector<Rank> all = everybody();
        std::erase(all, absent);
        return all;
    }

    // Somebody went on watching for this long after the last event.
    Evidence watched(Time longer = 0s) {
        evidence_.finish(now_ + longer);
        return std::move(evidence_);
    }

    static inline const std::string sound_versions = "cuda=13.0\nnccl=2.28.9\npython=3.11\ntorch=2.11.0";

private:
    Rank ranks_;
    Rank per_node_;
    Time now_{0};
    std::int64_t seq_ = 0;
    Evidence evidence_;
};

}  // namespace deadrank::tests
