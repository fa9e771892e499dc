// runners/backends/proxy/disturbance.h — What happens to a connection on its way. The words are those of the
// fault break_store and of the hook.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace deadrank::runners {

enum class Trouble {
    none,
    mute,    // connections are taken, nothing passes any more; what was under way comes later, unharmed
    refuse,  // new connections are refused, those that stand go on
    cut,     // broken after so many bytes more, and so is every new one
    late,    // whatever passes comes that much later
    narrow,  // so many bytes a second and direction
    flip,    // one bit of what the target answers turns, once
};

struct Disturbance {
    Trouble how = Trouble::none;
    std::chrono::nanoseconds late{0};
    std::int64_t amount = 0;  // cut: bytes that still pass; narrow: bytes a second; flip: which bit
};

// Empty = none. Nothing where the word is unknown.
std::optional<Trouble> trouble_named(std::string_view name);

}  // namespace deadrank::runners
