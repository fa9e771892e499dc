// results/record/event.h — One thing that happened, on one rank, at one time: the project's real interface.
// Every backend emits these events, and nothing that only a simulator could know. Kinds and fields are
// versioned (evidence_version).
#pragma once

#include <string_view>
#include <type_traits>
#include <variant>

#include "results/record/codes.h"
#include "results/record/payloads.h"
#include "results/record/time.h"

namespace deadrank::results {

inline constexpr int evidence_version = 1;

struct Event {
    Time at{0};
    Rank rank = no_rank;
    Payload what;

    template <class P>
    const P* as() const {
        return std::get_if<P>(&what);
    }
};
static_assert(std::is_trivially_copyable_v<Event>);
static_assert(sizeof(Event) == 64, "an event is one cache line");

std::string_view kind_name(const Event& event);

// Where a rank's events go: kept (Evidence), only hashed (fast runs), or written to a file (real processes).
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void record(const Event& event) = 0;
    virtual TextId text(std::string_view words) = 0;  // stores it once and returns its number
};

}  // namespace deadrank::results
