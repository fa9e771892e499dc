// inject/standin/exchange/served_communicator.h — A call is finished when all members have enqueued the
// matching one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/exchange/exchange_wire.h"

namespace deadrank::inject::standin {

// One collective in the making: finished when every member has enqueued the matching call, never when they do
// not match. The rules are those of sim/collectives/offer.h, on real bytes.
struct Offered {
    Call call;
    Share share;
};

// True when members with these calls can finish together: the same operation on as many bytes to the same
// root. Types and reductions may differ: kernels do not compare them.
bool fits(const Call& one, const Call& other);

class PendingCall {
public:
    explicit PendingCall(std::size_t members) : offers_(members) {}

    void offer(std::size_t member, Offered offered) { offers_[member] = std::move(offered); }
    void withdraw(std::size_t member) { offers_[member].reset(); }
    bool empty() const;
    // All members have called, their calls match and no kernel is stuck.
    bool complete() const;

    const Call& call(std::size_t member) const { return offers_[member]->call; }
    // What each member receives; an empty text where it receives nothing.
    std::vector<std::string> results() const;

private:
    std::string reduced() const;
    std::string joined() const;

    std::vector<std::optional<Offered>> offers_;
};

// One communicator as the coordinator sees it: who is in, what they have enqueued, and what is to be told to
// whom. It knows no socket, so that its rules can be tested by hand.
class ServedCommunicator {
public:
    static constexpr std::size_t connection_buffer = 4u << 20;

    // How a member is notified: head's kind, its struct as bytes, and a buffer.
    using SendToMember =
        std::function<void(int member, Kind kind, const std::string& said, const std::string& bytes)>;

    ServedCommunicator(std::string name, int size, std::uint64_t seed, SendToMember send_to_member);

    // False when a member cannot join with this: the others wait on, as NCCL's bootstrap does.
    bool enter(const Hello& hello);
    void call(int member, const Call& call, std::string bytes);
    // `orderly`: it left by ncclCommDestroy; otherwise the others may notice.
    void leave(int member, bool orderly);

private:
    struct Pair {
        std::optional<Offered> send, receive;
        bool sent = false;  // the sender is done: its bytes lie in the connection's buffer
    };
    using PairKey = std::tuple<int, int, std::uint64_t>;  // sender, receiver, number among their messages
    using Connection = std::pair<int, int>;               // sender, receiver

    void open();
    void message(int member, const Call& call, std::string bytes);
    bool is_buffered(const Connection& connection, const Pair& pair) const;
    void finish(PendingCall& pending);
    void done(int member, const Call& call, const std::string& bytes);
    std::vector<int> order(std::uint64_t sequence) const;

    std::string name_;
    std::uint64_t seed_;
    SendToMember send_to_member_;
    std::vector<std::optional<Hello>> members_;
    std::map<std::uint64_t, PendingCall> pending_;
    std::map<PairKey, Pair> pairs_;
    std::map<Connection, std::size_t> connections_;  // → bytes in its buffer
};

}  // namespace deadrank::inject::standin
