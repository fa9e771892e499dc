// results/importers/story.cpp — Events without a time of their own come last, before the exits: a traceback
// is printed before its process ends.
#include "results/importers/story.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/believed_ranks.h"
#include "results/record/event_names.h"
#include "results/record/words.h"

namespace deadrank::results::importers {

namespace {

std::string lines_of(const std::map<std::string, std::string>& pairs) {
    std::string text;
    for (const auto& [name, value] : pairs)
        text += fmt::format("{}{}={}", text.empty() ? "" : "\n", name, value);
    return text;
}

// Beyond these a rank's log repeats itself; memory must stay bounded whatever the size of the log.
constexpr std::size_t lines_most = 4'000, calm_lines_most = 400, late_lines_most = 64;

constexpr std::int64_t usual_time_out = 600'000'000'000;

std::string members_text(const std::vector<Rank>& ranks) {
    std::string text;
    for (const Rank rank : ranks) text += fmt::format("{}{}", text.empty() ? "" : ",", rank);
    return text;
}

}  // namespace

std::size_t Story::add_event(std::int64_t at, Rank rank, std::function<Payload(Evidence&)> what) {
    if (at != no_time) seen_until(at);
    events_.push_back({.at = at, .rank = rank, .what = std::move(what), .order = ++orders_});
    return events_.size() - 1;
}

// The same line of the same rank twice is one event in two files; a time in either of them is kept.
std::size_t Story::log(std::int64_t at, Rank rank, int level, std::string line) {
    std::size_t& kept = kept_[rank];
    if (kept >= (level == 0 ? calm_lines_most : lines_most)) {
        ++reading_.omitted;
        if (level == 0) return nothing;
        late_[rank].push_back({at, level, std::move(line)});
        if (late_[rank].size() > late_lines_most) late_[rank].pop_front();
        return nothing;
    }
    const auto [known, fresh] = logged_.try_emplace({rank, line}, events_.size());
    std::int64_t& before = fresh ? at : events_[known->second].at;
    if (!fresh && (before == no_time || at == no_time || at == before)) {
        if (before == no_time && at != no_time) before = at, seen_until(at);
        return nothing;
    }
    ++kept;
    return add_event(at, rank, [level, line = std::move(line)](Evidence& evidence) -> Payload {
        return RankLog{level, evidence.text(line)};
    });
}

std::size_t Story::log_again(std::int64_t at, std::string line) {
    return add_event(at, no_rank, [line = std::move(line)](Evidence& evidence) -> Payload {
        return RankLog{0, evidence.text(line)};
    });
}

// The same process: its pid, on the same host or where one of the two hosts is unknown.
void Story::failed(const Failure& failure) {
    auto& on_hosts = failed_at_[failure.pid];
    const auto same = failure.pid <= 0        ? on_hosts.end()
                      : failure.host.empty()  ? on_hosts.begin()
                      : on_hosts.contains("") ? on_hosts.find("")
                                              : on_hosts.find(failure.host);
    if (same == on_hosts.end()) {
        on_hosts.try_emplace(failure.host, failures_.size());
        failures_.push_back(failure);
        return;
    }
    Failure& known = failures_[same->second];
    if (known.rank == no_rank) known.rank = failure.rank;
    if (known.host.empty() && !failure.host.empty()) {
        known.host = failure.host;
        on_hosts.try_emplace(failure.host, same->second);
        on_hosts.erase("");
    }
    if (failure.root || known.at == no_time) known.at = failure.at;
    known.root |= failure.root;
}

void Story::task_ended(std::int64_t at, Rank task, int code, int signal, std::string host) {
    tasks_.push_back({at, task, task, 0, signal > 0 ? -signal : code, false, std::move(host)});
}

void Story::heard(Rank rank, std::int64_t at) {
    if (rank == no_rank || at == no_time) return;
    std::int64_t& last = last_line_at_.try_emplace(rank, at).first->second;
    last = std::max(last, at);
}

void Story::note_line(std::int64_t at) {
    if (at == no_time) return;
    if (last_line_ != no_time) longest_wait_ = std::max(longest_wait_, at - last_line_);
    last_line_ = std::max(last_line_, at);
}

// One task on each host, and more than twice as many ranks: each task is a launcher, whose number is that of
// a node. Tasks 0 and 1 on hosts n0 and n1 are nodes if rank 5 prints something.
void Story::settle_tasks() {
    std::set<std::size_t> guesses(by_task_.begin(), by_task_.end());
    Rank highest = no_rank, highest_task = no_rank;
    for (std::size_t i = 0; i < events_.size(); ++i)
        (guesses.contains(i) ? highest_task : highest) =
            std::max(guesses.contains(i) ? highest_task : highest, events_[i].rank);
    std::set<std::string> hosts;
    for (const Failure& task : tasks_) {
        hosts.insert(task.host);
        highest_task = std::max(highest_task, task.rank);
    }
    if (!tasks_.empty() && hosts.size() == tasks_.size() && highest >= 2 * (highest_task + 1))
        tasks_are_ranks_ = false;
    if (tasks_are_ranks_) return;
    for (const std::size_t told : by_task_) events_[told].rank = no_rank;
}

// The launcher's own traceback says nothing about a rank.
void Story::orphan(std::size_t told, const std::string& text) {
    for (const std::string_view own :
         {"ChildFailedError", "torch/distributed/run.py", "launch_agent", "deepspeed/launcher",
          "torch/distributed/launch.py", "CalledProcessError"}) {
        if (text.find(own) != text.npos) return;
    }
    ++reading_.orphans;
    orphans_.push_back(told);
    orphaned_.insert(told);
}

void Story::orphan_again(const std::string& text) {
    const auto known = logged_.find({no_rank, text});
    if (known == logged_.end()) return;
    if (!orphaned_.contains(known->second)) return;
    ++reading_.orphans;
    orphans_.push_back(known->second);
}

// The first traceback belongs to the rank that the launcher names as the first failure. If there are as many
// tracebacks as failures, they belong together in order.
void Story::claim_orphans() {
    std::vector<const Failure*> known;
    const bool by_tasks = failures_.empty() && tasks_are_ranks_;
    for (const Failure& failure : by_tasks ? tasks_ : failures_) {
        if (failure.rank != no_rank && failure.code > 0) known.push_back(&failure);
    }
    // srun says nothing about who failed first.
    if (by_tasks && orphans_.size() != known.size()) return;
    std::stable_sort(known.begin(), known.end(), [](const Failure* a, const Failure* b) {
        return std::pair(a->at, !a->root) < std::pair(b->at, !b->root);
    });
    const bool all = orphans_.size() == known.size();
    for (std::size_t i = 0; i < orphans_.size() && i < known.size() && (all || i == 0); ++i) {
        StoryEvent& one = events_[orphans_[i]];
        const Rank rank = known[i]->rank;
        --reading_.orphans;
        if (one.rank == no_rank) {
            one.rank = rank;
        } else {
            const std::size_t order = one.order;
            began(add_event(one.at, rank, std::function(one.what)), order);
        }
    }
}

void Story::settle_exits() {
    const bool ranks_stated = !failures_.empty() || !exits_.empty();
    for (const Failure& failure : failures_) {
        // A local rank is the rank where the launcher's workers are the whole world.
        const bool whole_world = world_ <= std::max(static_cast<std::int32_t>(workers_.size()), 1);
        const Rank guess = whole_world ? failure.local : no_rank;
        const Rank rank = failure.rank != no_rank ? failure.rank : guess;
        if (rank != no_rank) exits(failure.at, rank, failure.code, failure.code < 0 ? -failure.code : 0);
        if (rank != no_rank && failure.root) roots_.insert(rank);
        if (failure.rank != no_rank && !failure.host.empty()) process(failure.rank).host = failure.host;
    }
    if (ranks_stated || !tasks_are_ranks_) return;
    for (const Failure& task : tasks_) {
        exits(task.at, task.rank, task.code, task.code < 0 ? -task.code : 0);
        if (!task.host.empty() && !processes_.contains(task.rank)) process(task.rank).host = task.host;
    }
}

Rank Story::rank_of(const std::string& host, std::int32_t pid) const {
    const auto known = ranks_.find(pid);
    if (known == ranks_.end()) return no_rank;
    const auto& on_hosts = known->second;
    if (host.empty() || on_hosts.begin()->first.empty()) return on_hosts.begin()->second;
    const auto here = on_hosts.find(host);
    return here == on_hosts.end() ? no_rank : here->second;
}

void Story::names(const std::string& host, std::int32_t pid, Rank rank) {
    ranks_[pid][host] = rank;
    KnownProcess& known = process(rank);
    if (!host.empty()) known.host = host;
    known.pid = pid;
}

KnownGroup& Story::group(const std::string& name, const std::string& description,
                         const std::vector<Rank>& ranks) {
    KnownGroup& group = groups_[{name, ranks}];
    group.name = name, group.ranks = ranks;
    if (!description.empty()) group.description = description;
    if (description == "default_pg") world_size(static_cast<std::int32_t>(ranks.size()));
    return group;
}

KnownGroup* Story::group_named(const std::string& name, Rank member) {
    for (auto at = groups_.lower_bound({name, {}}); at != groups_.end() && at->first.first == name; ++at) {
        const auto& ranks = at->second.ranks;
        if (std::count(ranks.begin(), ranks.end(), member) > 0) return &at->second;
    }
    return nullptr;
}

void Story::world_size(std::int32_t size) { world_ = std::max(world_, size); }
void Story::seen_until(std::int64_t at) { until_ = std::max(until_, at); }

void Story::exits(std::int64_t at, Rank rank, int code, int signal) {
    if (at != no_time) seen_until(at);
    exits_.try_emplace(rank, at, std::pair{code, signal});
}

Rank Story::count() {
    Rank count = world_;
    for (const auto& [rank, process] : processes_) count = std::max(count, rank + 1);
    for (const auto& [rank, exit] : exits_) count = std::max(count, rank + 1);
    for (const StoryEvent& one : events_) count = std::max(count, one.rank + 1);
    visits_ += std::ssize(events_);
    for (const auto& [key, group] : groups_) {
        for (const Rank rank : group.ranks) count = std::max(count, rank + 1);
    }
    return count;
}

// "[rank 7777777]" in a log of three lines is no rank of a job; whatever reads evidence has lists of ranks.
void Story::forget_absurd_ranks() {
    const std::int64_t most = ranks_believed(std::ssize(events_));
    const auto absurd = [&](Rank rank) { return rank >= most || rank < no_rank; };
    for (StoryEvent& one : events_)
        if (absurd(one.rank)) one.rank = no_rank;
    visits_ += std::ssize(events_);
    std::erase_if(processes_, [&](const auto& one) { return absurd(one.first); });
    std::erase_if(exits_, [&](const auto& one) { return absurd(one.first); });
    std::erase_if(late_, [&](const auto& one) { return absurd(one.first); });
    std::erase_if(last_line_at_, [&](const auto& one) { return absurd(one.first); });
    std::erase_if(dumped_, absurd);
    std::erase_if(comms_, [&](const auto& one) { return one.second.size > most; });
    for (auto& [name, comm] : comms_)
        std::erase_if(comm.members, [&](const NcclMember& one) { return absurd(one.process); });
    for (auto& [key, group] : groups_) {
        std::erase_if(group.ranks, absurd);
        std::erase_if(group.joined, [&](const auto& one) { return absurd(one.first); });
    }
    if (world_ > most) world_ = 0;
}

// The default group first; others in order of name and members.
void Story::number_groups() {
    CommId next = 1;
    for (const bool world : {true, false}) {
        for (auto& [key, group] : groups_) {
            if ((group.description == "default_pg") == world) group.id = next++;
        }
    }
}

std::vector<std::string> Story::lacks(Rank count) const {
    std::vector<std::string> lacks;
    std::vector<std::int32_t> absent;
    for (Rank rank = 0; !dumped_.empty() && rank < count; ++rank) {
        if (dumped_.count(rank) == 0) absent.push_back(rank);
    }
    if (!absent.empty()) {
        lacks.push_back(
            fmt::format("no Flight Recorder dump of rank {}: it died, or its dump was lost; it will look as "
                        "if it had never come",
                        ranges_text(absent)));
    }
    if (dumped_.empty()) lacks.push_back("no Flight Recorder dump: who was in which collective is not known");
    if (dumps_by_watchdog_) {
        lacks.push_back(
            "how long the job was watched: calls did not end, so the dumps are taken for a watchdog's, ten "
            "minutes "
            "after the last call; --until says otherwise");
    }
    lacks.push_back("training steps, losses, samples and memory: none of these files has them");
    return lacks;
}

void Story::nccl_begins(const std::string& comm, Rank process, Rank place, std::int32_t size,
                        std::int64_t at) {
    seen_until(at);
    const auto [known, fresh] = comm_places_.try_emplace(comm, comms_.size());
    if (fresh) comms_.push_back({comm, {size}});
    NcclComm& one = comms_[known->second].second;
    one.joining[process].push_back(one.members.size());
    one.members.push_back({process, place, at, no_time});
}

void Story::nccl_joined(const std::string& comm, Rank process, std::int64_t at) {
    seen_until(at);
    const auto known = comm_places_.find(comm);
    if (known == comm_places_.end()) return;
    NcclComm& one = comms_[known->second].second;
    const auto joining = one.joining.find(process);
    if (joining == one.joining.end()) return;
    for (const std::size_t place : joining->second) one.members[place].joined = at;
    one.joining.erase(joining);
}

void Story::record_last_lines() {
    for (auto& [rank, lines] : late_) {
        for (Late& one : lines) {
            add_event(one.at, rank,
                      [level = one.level, line = std::move(one.line)](Evidence& evidence) -> Payload {
                          return RankLog{level, evidence.text(line)};
                      });
            --reading_.omitted;
        }
    }
}

// NCCL prints its version once for the whole job; ranks that print none have the same.
void Story::spread_version() {
    std::set<std::string> versions;
    for (const auto& [rank, process] : processes_) {
        const auto found = process.versions.find("nccl");
        if (found != process.versions.end()) versions.insert(found->second);
    }
    if (versions.size() != 1) return;
    for (auto& [rank, process] : processes_) process.versions.try_emplace("nccl", *versions.begin());
}

// Hosts become nodes in order of name.
void Story::record_start(Evidence& evidence, Rank count) const {
    std::map<std::string, std::int32_t> nodes, per_node;
    for (const auto& [rank, process] : processes_) ++per_node[process.host];
    std::int32_t most = 1;
    for (const auto& [host, ranks] : per_node) {
        nodes.emplace(host, static_cast<std::int32_t>(nodes.size()));
        most = std::max(most, ranks);
    }
    const auto all = std::max<std::int32_t>(static_cast<std::int32_t>(nodes.size()), 1);
    evidence.record({Time{0}, no_rank,
                     JobStart{count, all, most, evidence.text(scenarios::enum_name(JobOrigin::imported))}});
    for (Rank rank = 0; rank < count; ++rank) {
        const auto found = processes_.find(rank);
        const KnownProcess known = found == processes_.end() ? KnownProcess{} : found->second;
        evidence.record(
            {Time{0}, rank,
             RankStart{known.pid, found == processes_.end() ? 0 : nodes.at(known.host), known.gpu,
                       evidence.text(known.host), evidence.text(lines_of(known.versions)), TextId::none}});
        // NCCL prints only those of its own variables that are set, so this is not the whole environment: a
        // variable that is missing here may have been set.
        for (const auto& [name, value] : known.environment)
            evidence.record({Time{0}, rank, RankConfig{evidence.text(name), evidence.text(value)}});
    }
}

void Story::record_groups(Evidence& evidence, std::int64_t zero) const {
    for (const auto& [key, group] : groups_) {
        const bool world = group.description == "default_pg";
        const TextId members = evidence.text(members_text(group.ranks));
        for (std::size_t place = 0; place < group.ranks.size(); ++place) {
            const Rank rank = group.ranks[place];
            const auto joined = group.joined.find(rank);
            if (joined == group.joined.end()) continue;
            const Time at{std::max<std::int64_t>(joined->second - zero, 0)};
            evidence.record({at, rank,
                             CommInitEnter{group.id, static_cast<std::int32_t>(group.ranks.size()),
                                           static_cast<std::int32_t>(place),
                                           evidence.text(world ? "world" : group.description), members}});
            evidence.record({at, rank, CommInitLeave{group.id, Code::ok, TextId::none}});
        }
    }
}

void Story::record_nccl_comms(Evidence& evidence, std::int64_t zero, Rank count) const {
    CommId id = 0;
    for (const auto& [name, comm] : comms_) {
        ++id;
        std::map<Rank, Rank> by_place;
        for (const NcclMember& member : comm.members)
            if (member.place >= 0 && member.place < comm.size) by_place[member.place] = member.process;
        std::vector<Rank> ranks;
        for (const auto& [place, process] : by_place)
            if (process != no_rank) ranks.push_back(process);
        const bool world = comm.size == count;
        const TextId members =
            evidence.text(world ? fmt::format("0-{}", comm.size - 1) : members_text(ranks));
        for (const NcclMember& member : comm.members) {
            evidence.record(
                {Time{member.begun - zero}, member.process,
                 CommInitEnter{id, comm.size, member.place, evidence.text(world ? "world" : ""), members}});
            if (member.joined == no_time) continue;
            evidence.record(
                {Time{member.joined - zero}, member.process, CommInitLeave{id, Code::ok, TextId::none}});
        }
    }
}

Story::Ending Story::finish(std::optional<std::int64_t> observed_until) {
    // A watchdog writes its dump when a call has lasted for c10d's time-out; no file says how long that was.
    dumps_by_watchdog_ = !observed_until && until_ != no_time && !unfinished_.empty() &&
                         unfinished_.size() * 2 >= dumped_.size();
    if (dumps_by_watchdog_) observed_until = until_ + usual_time_out;
    settle_tasks();
    claim_orphans();
    settle_exits();
    forget_absurd_ranks();
    record_last_lines();
    number_groups();
    spread_version();
    Ending ending;
    ending.zero = until_ == no_time ? 0 : until_;
    const auto earlier = [&](std::int64_t at) {
        if (at != no_time) ending.zero = std::min(ending.zero, at);
    };
    for (const StoryEvent& one : events_) earlier(one.at);
    earlier(last_line_);  // of a job that then printed nothing any more
    for (const auto& [rank, exit] : exits_) earlier(exit.first);
    for (const auto& [name, comm] : comms_) {
        for (const NcclMember& member : comm.members) earlier(member.begun);
    }
    const auto when = [&](std::int64_t at) {
        return Time{std::max<std::int64_t>((at == no_time ? until_ : at) - ending.zero, 0)};
    };
    Evidence& evidence = ending.evidence;
    const Rank ranks = count();
    record_start(evidence, ranks);
    record_groups(evidence, ending.zero);
    if (groups_.empty()) record_nccl_comms(evidence, ending.zero, ranks);
    std::stable_sort(events_.begin(), events_.end(),
                     [](const StoryEvent& a, const StoryEvent& b) { return a.order < b.order; });
    for (const StoryEvent& one : events_) {
        if (one.forgotten) continue;
        Payload what = one.what(evidence);
        if (auto* log = std::get_if<RankLog>(&what); log && one.informational) log->level = 0;
        evidence.record({when(one.at), one.rank, std::move(what)});
    }
    // The rank that a launcher names as the first failure comes first among those of the same second.
    for (const bool first : {true, false}) {
        for (const auto& [rank, exit] : exits_) {
            if (roots_.contains(rank) == first)
                evidence.record({when(exit.first), rank, RankExit{exit.second.first, exit.second.second}});
        }
    }
    // An agent that ends its workers names each of them: their number is the world size if no file states it.
    reading_.ranks_stated = world_ > 0 ? world_ : static_cast<std::int64_t>(workers_.size());
    if (reading_.lines > 0)
        evidence.record({when(until_), no_rank, RankLog{0, evidence.text(reading_.line())}});
    if (last_line_ != no_time) {
        std::string heard =
            fmt::format("import: heard last={} wait={}", when(last_line_).count(), longest_wait_);
        for (const auto& [rank, at] : last_line_at_) heard += fmt::format(" {}={}", rank, when(at).count());
        evidence.record({when(until_), no_rank, RankLog{0, evidence.text(heard)}});
    }
    evidence.finish(when(std::max(observed_until.value_or(until_), until_)));
    ending.lacks = lacks(ranks);
    ending.visits = visits_;
    return ending;
}

}  // namespace deadrank::results::importers
