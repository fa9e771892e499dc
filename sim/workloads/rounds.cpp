// sim/workloads/rounds.cpp — How replicas agree at the store: the first proposal of a round stands, and so
// does the first word on whether its step counts.
#include <charconv>
#include <fmt/format.h>

#include "sim/workloads/elastic.h"

namespace deadrank::sim {

namespace {

// So that of many who lost patience one proposes and the others find its proposal.
constexpr Time patience_step{20'000'000};
constexpr int patience_max = 60;  // times: then there is no quorum any more

std::int64_t take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
    return number;
}

// "0-3,6" as rank_list() writes it, up to a bar or the end.
std::vector<Rank> take_ranks(std::string_view& text) {
    std::vector<Rank> ranks;
    std::string_view list = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(text.size(), list.size() + 1));
    while (!list.empty()) {
        const bool range = list.substr(0, list.find(',')).find('-') != std::string_view::npos;
        const auto first = static_cast<Rank>(take_number(list));
        const auto last = range ? static_cast<Rank>(take_number(list)) : first;
        for (Rank rank = first; rank <= last; ++rank) ranks.push_back(rank);
    }
    return ranks;
}

std::string key(std::int64_t round, std::string_view what) { return fmt::format("round{}/{}", round, what); }

}  // namespace

bool completed_in_time(World& world, Comm& comm, Work& work, Time patience) {
    constexpr Time first{20'000}, most{20'000'000};
    Time waited{0};
    for (Time pause = first; !work.ready(); pause = std::min(2 * pause, most)) {
        if (comm.async_error() != Code::ok || waited >= patience) return false;
        world.timer().sleep(pause);
        waited += pause;
    }
    return true;
}

std::string Quorum::text() const {
    return fmt::format("{} {} {} {}|{}", step, source, communicator, rank_list(members), rank_list(behind));
}

Quorum Quorum::from(std::int64_t round, std::string_view text) {
    Quorum quorum{.round = round};
    quorum.step = take_number(text);
    quorum.source = static_cast<Rank>(take_number(text));
    quorum.communicator = take_number(text);
    quorum.members = take_ranks(text);
    quorum.behind = take_ranks(text);
    return quorum;
}

std::optional<Quorum> Rounds::decided(std::int64_t round, Time patience) {
    const auto text = store_.wait(key(round, "quorum"), patience);
    if (!text) return std::nullopt;
    return Quorum::from(round, *text);
}

void Rounds::catch_up() {
    const auto newest = store_.wait("round", Time{0});
    if (newest) {
        std::string_view text = *newest;
        const std::int64_t round = take_number(text);
        if (!last_ || round > last_->round) last_ = decided(round, Time{0});
    }
    // Whoever decided the next one may have died before it moved the pointer.
    while (auto next = decided(last_ ? last_->round + 1 : 0, Time{0})) last_ = std::move(next);
}

bool Rounds::is_over() {
    if (!last_ || last_->step < rules_.end) return false;
    return store_.wait(key(last_->round, "counts"), rules_.patience) == "yes";
}

std::optional<Quorum> Rounds::join(std::int64_t step, std::int64_t communicator) {
    for (;;) {
        catch_up();
        if (is_over()) return std::nullopt;
        Quorum quorum = await(last_ ? last_->round + 1 : 0, step, communicator);
        const bool member = quorum.has(self_);
        last_ = std::move(quorum);
        if (member) return last_;
    }
}

// The members of the last round are waited for, and with them whoever came meanwhile is taken in. Where
// training is over, everybody is: who is behind shall have the last state before the others leave.
Quorum Rounds::await(std::int64_t round, std::int64_t step, std::int64_t communicator) {
    const bool awaited = !last_ || last_->has(self_);
    const std::string mine = fmt::format("{} {} {}", step, communicator, life_);
    const std::string own = key(round, fmt::format("came/{}", self_));
    const std::string first = store_.set_once(own, mine);
    const std::int64_t counts = first == mine ? 1 : 0;  // an earlier life has been counted
    if (counts == 0) store_.set(own, mine);
    const std::int64_t came = store_.add(key(round, "came"), counts);
    const std::int64_t of_awaited = store_.add(key(round, "awaited"), awaited ? counts : 0);
    const std::int64_t wanted = last_ ? std::ssize(last_->members) : rules_.processes;
    const bool all_came = came == rules_.processes || (awaited && step < rules_.end && of_awaited == wanted);
    if (all_came) propose(round, true);
    for (int times = 0; times < patience_max; ++times) {
        if (auto quorum = decided(round, rules_.patience + came * patience_step)) return *quorum;
        if (awaited) propose(round, false);
    }
    throw RankFailure(fmt::format("RuntimeError: no quorum in round {} after {} s", round,
                                  patience_max * rules_.patience.count() / 1'000'000'000));
}

std::vector<Rounds::Report> Rounds::reports(std::int64_t round) {
    std::vector<Report> came;
    for (Rank replica = 0; replica < rules_.processes; ++replica) {
        const auto said = store_.wait(key(round, fmt::format("came/{}", replica)), Time{0});
        if (!said) continue;
        std::string_view text = *said;
        const std::int64_t step = take_number(text);
        came.push_back({replica, step, take_number(text)});
    }
    return came;
}

void Rounds::propose(std::int64_t round, bool all_came) {
    if (decided(round, Time{0})) return;
    std::vector<Report> came = reports(round);
    // Those that worked together last stay; then spares and newcomers take the places that are left.
    const auto is_new = [&](const Report& report) { return last_ && !last_->has(report.replica); };
    std::stable_partition(came.begin(), came.end(), [&](const Report& report) { return !is_new(report); });
    came.resize(std::min(came.size(), static_cast<std::size_t>(rules_.replicas)));
    std::sort(came.begin(), came.end(), [](const auto& a, const auto& b) { return a.replica < b.replica; });
    if (came.empty() || std::ssize(came) < rules_.least) return;
    Quorum quorum = quorum_of(round, came);
    // Training does not go back: whoever has the last step is late, and is waited for.
    if (!all_came && last_ && quorum.step < last_->step) return;
    store_.set_once(key(round, "quorum"), quorum.text());
    store_.set("round", std::to_string(round));
}

Quorum Rounds::quorum_of(std::int64_t round, const std::vector<Report>& came) const {
    const auto newest = std::max_element(came.begin(), came.end(),
                                         [](const auto& a, const auto& b) { return a.step < b.step; });
    const Rank source = rules_.heals_from_first ? came.front().replica : newest->replica;
    Quorum quorum{.round = round, .step = newest->step, .source = source};
    bool connected = true;
    for (const Report& report : came) {
        quorum.members.push_back(report.replica);
        if (report.step != newest->step) quorum.behind.push_back(report.replica);
        connected = connected && report.communicator == came.front().communicator;
    }
    if (rules_.counts_everybody) quorum.members = Members::range(0, rules_.replicas).list();
    connected = connected && last_ && last_->members == quorum.members &&
                last_->communicator == came.front().communicator;
    quorum.communicator = connected ? last_->communicator : round;
    return quorum;
}

// The last one to say that it went well says so for all; the first one for whom it did not, too.
bool Rounds::agree_on_success(const Quorum& quorum, bool well) {
    const std::string counts = key(quorum.round, "counts");
    if (!well) return store_.set_once(counts, "no") == "yes";
    const std::int64_t came = store_.add(key(quorum.round, "well"), 1);
    if (came == std::ssize(quorum.members)) return store_.set_once(counts, "yes") == "yes";
    if (const auto word = store_.wait(counts, rules_.patience + came * patience_step)) return *word == "yes";
    return store_.set_once(counts, "no") == "yes";
}

}  // namespace deadrank::sim
