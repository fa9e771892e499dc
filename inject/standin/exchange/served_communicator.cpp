// inject/standin/exchange/served_communicator.cpp — A call is finished when all members have enqueued the
// matching one.
#include "inject/standin/exchange/served_communicator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "scenarios/model/error.h"

namespace deadrank::inject::standin {

// ── Who receives what. Where members disagree on type or reduction, each part of the result is made by one
// member in its own way, as rings do.

using results::Op;

namespace {

std::string part(const std::string& whole, std::size_t at, std::size_t size) {
    std::string piece(size, '\0');
    if (at < whole.size()) piece.replace(0, std::min(size, whole.size() - at), whole, at, size);
    piece.resize(size);
    return piece;
}

std::size_t call_bytes(const Call& call) { return call.count * size_of(call.element); }

}  // namespace

bool fits(const Call& one, const Call& other) {
    return one.op == other.op && call_bytes(one) == call_bytes(other) && one.peer == other.peer;
}

bool PendingCall::empty() const {
    return std::none_of(offers_.begin(), offers_.end(), [](const auto& offer) { return offer.has_value(); });
}

bool PendingCall::complete() const {
    if (!offers_.front() || offers_.front()->call.peer >= static_cast<int>(offers_.size())) return false;
    return std::all_of(offers_.begin(), offers_.end(), [&](const auto& offer) {
        return offer && !offer->call.stuck && fits(offer->call, offers_.front()->call);
    });
}

std::string PendingCall::joined() const {
    const std::size_t size = call_bytes(call(0));
    std::string all;
    for (const auto& offer : offers_) all += part(offer->share.bytes, 0, size);
    return all;
}

std::string PendingCall::reduced() const {
    std::vector<const Share*> shares;
    for (const auto& offer : offers_) shares.push_back(&offer->share);
    const std::size_t members = offers_.size();
    const std::size_t size = call_bytes(call(0)) * (call(0).op == Op::reduce_scatter ? members : 1);
    std::string result(size, '\0');
    const bool alike = std::all_of(offers_.begin(), offers_.end(), [&](const auto& offer) {
        return offer->call.element == call(0).element && offer->call.reduction == call(0).reduction;
    });
    if (alike) {
        reduce(shares, 0, size, call(0).element, call(0).reduction, result);
        return result;
    }
    constexpr std::size_t widest = 8;  // parts begin where an element of any type may begin
    for (std::size_t owner = 0; owner < members; ++owner) {
        const std::size_t begin = owner * (size / widest) / members * widest;
        const std::size_t end =
            owner + 1 == members ? size : (owner + 1) * (size / widest) / members * widest;
        reduce(shares, begin, end, call(owner).element, call(owner).reduction, result);
    }
    return result;
}

std::vector<std::string> PendingCall::results() const {
    const std::size_t members = offers_.size();
    const std::size_t size = call_bytes(call(0));
    const auto root = static_cast<std::size_t>(std::max(0, call(0).peer));
    std::vector<std::string> out(members);
    switch (call(0).op) {
        case Op::all_reduce:
            out.assign(members, reduced());
            break;
        case Op::reduce:
            out[root] = reduced();
            break;
        case Op::reduce_scatter: {
            const std::string all = reduced();
            for (std::size_t i = 0; i < members; ++i) out[i] = part(all, i * size, size);
            break;
        }
        case Op::broadcast:
            out.assign(members, part(offers_[root]->share.bytes, 0, size));
            break;
        case Op::gather:
            out[root] = joined();
            break;
        case Op::scatter:
            for (std::size_t i = 0; i < members; ++i)
                out[i] = part(offers_[root]->share.bytes, i * size, size);
            break;
        case Op::all_to_all:
            for (std::size_t to = 0; to < members; ++to) {
                for (const auto& from : offers_) out[to] += part(from->share.bytes, to * size, size);
            }
            break;
        default:
            out.assign(members, joined());
            break;
    }
    return out;
}

// ── The order in which members learn of one completion is a function of seed, communicator and sequence
// number; what they learn is a function of what they brought.

using results::Op;

namespace {

template <class Said>
std::string raw_bytes(const Said& said) {
    return {reinterpret_cast<const char*>(&said), sizeof said};
}

// SplitMix64: chance as a function of what it is for.
std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

std::string trouble_between(const std::vector<std::optional<Hello>>& members) {
    for (const auto& one : members) {
        const Hello& first = *members.front();
        if (one->version != first.version) {
            return fmt::format("Mismatched NCCL version detected : rank {} version {} rank {} version {}",
                               one->rank, one->version, first.rank, first.version);
        }
        for (const auto& other : members) {
            if (other->rank <= one->rank || other->host != one->host || other->device != one->device)
                continue;
            return fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}",
                               one->rank, other->rank, (one->device + 1) << 4);
        }
    }
    return {};
}

}  // namespace

ServedCommunicator::ServedCommunicator(std::string name, int size, std::uint64_t seed,
                                       SendToMember send_to_member)
    : name_(std::move(name)),
      seed_(seed),
      send_to_member_(std::move(send_to_member)),
      members_(static_cast<std::size_t>(size)) {
    for (const char letter : name_) seed_ = mixed(seed_ ^ static_cast<unsigned char>(letter));
}

bool ServedCommunicator::enter(const Hello& hello) {
    if (hello.size != static_cast<int>(members_.size()) || hello.rank < 0 || hello.rank >= hello.size)
        return false;
    auto& place = members_[static_cast<std::size_t>(hello.rank)];
    if (place) return false;
    place = hello;
    const bool full =
        std::all_of(members_.begin(), members_.end(), [](const auto& one) { return one.has_value(); });
    if (full) open();
    return true;
}

void ServedCommunicator::open() {
    const std::string trouble = trouble_between(members_);
    const Joined joined{trouble.empty() ? 0 : static_cast<int>(results::Code::invalid_usage)};
    for (const int member : order(0)) send_to_member_(member, Kind::joined, raw_bytes(joined), trouble);
}

void ServedCommunicator::call(int member, const Call& call, std::string bytes) {
    if (call.op == Op::send || call.op == Op::recv) return message(member, call, std::move(bytes));
    PendingCall& pending = pending_.try_emplace(call.sequence, members_.size()).first->second;
    pending.offer(static_cast<std::size_t>(member), {call, {std::move(bytes), call.scale}});
    if (!pending.complete()) return;
    finish(pending);
    pending_.erase(call.sequence);
}

void ServedCommunicator::finish(PendingCall& pending) {
    const std::vector<std::string> results = pending.results();
    const std::uint64_t sequence = pending.call(0).sequence;
    for (const int member : order(sequence)) {
        const auto place = static_cast<std::size_t>(member);
        done(member, pending.call(place), results[place]);
    }
}

void ServedCommunicator::done(int member, const Call& call, const std::string& bytes) {
    send_to_member_(member, Kind::done, raw_bytes(Done{call.number}), bytes);
}

// As in NCCL a sender copies into a buffer of the connection (NCCL_BUFFSIZE, 4 MiB unless set) and is done
// when all of it fits, whether anybody receives or not. Both make the connection at their first message,
// which therefore waits. Seen with NCCL 2.28.9 on a GPU, and in its source.
bool ServedCommunicator::is_buffered(const Connection& connection, const Pair& pair) const {
    const auto known = connections_.find(connection);
    if (known == connections_.end()) return false;
    return known->second + pair.send->share.bytes.size() <= connection_buffer;
}

// Both sides complete only when they name the same number of bytes.
void ServedCommunicator::message(int member, const Call& call, std::string bytes) {
    const bool sends = call.op == Op::send;
    const PairKey key =
        sends ? PairKey{member, call.peer, call.sequence} : PairKey{call.peer, member, call.sequence};
    Pair& pair = pairs_[key];
    (sends ? pair.send : pair.receive) = Offered{call, {std::move(bytes), 0}};
    if (!pair.send || pair.send->call.stuck) return;
    const Connection connection(std::get<0>(key), std::get<1>(key));
    const std::size_t size = pair.send->share.bytes.size();
    if (!pair.sent && is_buffered(connection, pair)) {
        pair.sent = true;
        connections_[connection] += size;
        done(connection.first, pair.send->call, {});
    }
    if (!pair.receive || pair.receive->call.stuck) return;
    if (size != pair.receive->call.count * size_of(pair.receive->call.element)) return;
    if (!pair.sent) done(connection.first, pair.send->call, {});
    done(connection.second, pair.receive->call, pair.send->share.bytes);
    connections_[connection] -= pair.sent ? size : 0;
    pairs_.erase(key);
}

void ServedCommunicator::leave(int member, bool orderly) {
    auto& gone = members_[static_cast<std::size_t>(member)];
    if (!gone) return;
    for (auto& [sequence, pending] : pending_) pending.withdraw(static_cast<std::size_t>(member));
    for (auto& [key, pair] : pairs_) {
        if (std::get<0>(key) == member && !pair.sent) pair.send.reset();  // what lies in the buffer arrives
        if (std::get<1>(key) == member) pair.receive.reset();
    }
    const std::uint64_t host = gone->host;
    gone.reset();
    if (orderly) return;
    for (const auto& other : members_) {
        if (!other) continue;
        send_to_member_(other->rank, Kind::gone, raw_bytes(Gone{member, other->host != host}), {});
    }
}

std::vector<int> ServedCommunicator::order(std::uint64_t sequence) const {
    std::vector<int> members(members_.size());
    std::iota(members.begin(), members.end(), 0);
    if (seed_ == 0) return members;
    std::uint64_t chance = mixed(seed_ ^ sequence);
    for (std::size_t left = members.size(); left > 1; --left) {
        std::swap(members[left - 1], members[chance % left]);
        chance = mixed(chance);
    }
    return members;
}

}  // namespace deadrank::inject::standin
