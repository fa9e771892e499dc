// inject/standin/exchange/meeting.h — One collective in the making: finished when every member has enqueued
// the matching call, never when they do not match. The rules are those of sim/collectives/offer.h, on real
// bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/exchange/wire.h"

namespace deadrank::standin {

struct Offered {
    Call call;
    Share share;
};

// True when members with these calls can finish together: the same operation on as many bytes to the same
// root. Types and reductions may differ: kernels do not compare them.
bool fits(const Call& one, const Call& other);

class Meeting {
public:
    explicit Meeting(std::size_t members) : offers_(members) {}

    void offer(std::size_t member, Offered offered) { offers_[member] = std::move(offered); }
    void withdraw(std::size_t member) { offers_[member].reset(); }
    bool empty() const;
    // Everybody is there, everybody fits and nobody's kernel is stuck.
    bool complete() const;

    const Call& call(std::size_t member) const { return offers_[member]->call; }
    // What each member receives; an empty text where it receives nothing.
    std::vector<std::string> results() const;

private:
    std::string reduced() const;
    std::string joined() const;

    std::vector<std::optional<Offered>> offers_;
};

}  // namespace deadrank::standin
