// inject/standin/exchange/room.h — One communicator as the coordinator sees it: who is in, what they have
// enqueued, and what is to be told to whom. It knows no socket, so that its rules can be tested by hand.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "inject/standin/exchange/meeting.h"

namespace deadrank::standin {

class Room {
public:
    // How a member is told: head's kind, its struct as bytes, and a buffer.
    using Tell =
        std::function<void(int member, Kind kind, const std::string& said, const std::string& bytes)>;

    Room(std::string name, int size, std::uint64_t seed, Tell tell);

    // False when nobody can come in with this: the room waits on, as NCCL's bootstrap does.
    bool enter(const Hello& hello);
    void call(int member, const Call& call, std::string bytes);
    // `orderly`: it left by ncclCommDestroy; otherwise the others may notice.
    void leave(int member, bool orderly);

private:
    struct Pair {
        std::optional<Offered> send, receive;
    };
    using PairKey = std::tuple<int, int, std::uint64_t>;  // sender, receiver, number among their messages

    void open();
    void message(int member, const Call& call, std::string bytes);
    void finish(Meeting& meeting);
    void done(int member, const Call& call, const std::string& bytes);
    std::vector<int> order(std::uint64_t sequence) const;

    std::string name_;
    std::uint64_t seed_;
    Tell tell_;
    std::vector<std::optional<Hello>> members_;
    std::map<std::uint64_t, Meeting> meetings_;
    std::map<PairKey, Pair> pairs_;
};

}  // namespace deadrank::standin
