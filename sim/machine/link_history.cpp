// sim/machine/link_history.cpp — What lies between two members over the time of a collective, and when a
// message that is sent across it has left, however often the pace changes on the way.
#include "sim/machine/link_history.h"

#include <algorithm>

namespace deadrank::sim {

// Shares in integers, so that an undisturbed way takes exactly its whole.
Time Movement::advance(Time now, Time new_whole) {
    __extension__ typedef __int128 Wide;
    if (under_way && whole != results::never && whole > Time{0}) {
        const auto moved = static_cast<std::int64_t>(Wide{(now - since).count()} * billion / whole.count());
        done_ppb = std::min(billion, done_ppb + moved);
    }
    under_way = true;
    since = now;
    whole = new_whole;
    if (new_whole == results::never) return results::never;
    return Time(static_cast<std::int64_t>(Wide{new_whole.count()} * (billion - done_ppb) / billion));
}

// ── Crossing a link piece by piece: what is done stays done when its pace changes.

namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t packet_bytes = 4096;
constexpr std::int64_t resent_window = 64 << 10;  // a go-back-N sender repeats about that much for each loss

// At the pace of one phase. Nothing overtakes the pace of the narrowest link.
Time whole_time(const LinkPhase& phase, const Message& message) {
    if (phase.bandwidth <= 0 || phase.loss_ppb >= billion) return results::never;
    const Time plain = std::max(message.usual, message.time_at(phase.bandwidth));
    if (phase.loss_ppb <= 0) return plain;
    const auto resent_until = [&](std::int64_t part) {
        return expected_resent(message.sent_before + message.bytes * part / message.parts, phase.loss_ppb);
    };
    const std::int64_t resent = resent_until(message.part + 1) - resent_until(message.part);
    return plain + resending_time(resent, phase.latency, phase.bandwidth);
}

}  // namespace

Time time_of_part(Time whole, std::int64_t part, std::int64_t parts) {
    const auto until = [&](std::int64_t end) {
        return static_cast<std::int64_t>(Wide{whole.count()} * end / parts);
    };
    return Time(until(part + 1) - until(part));
}

Time Message::time_at(std::int64_t bandwidth) const {
    return time_of_part(time_of(bytes, bandwidth), part, parts);
}

std::int64_t expected_resent(std::int64_t bytes, std::int64_t loss_ppb) {
    if (bytes <= 0 || loss_ppb <= 0 || loss_ppb >= billion) return 0;
    const std::int64_t packets = (bytes + packet_bytes - 1) / packet_bytes;
    return static_cast<std::int64_t>((Wide{packets} * loss_ppb + billion - loss_ppb - 1) /
                                     (billion - loss_ppb));
}

Time resending_time(std::int64_t resent, Time latency, std::int64_t bandwidth) {
    return resent * (2 * latency + time_of(resent_window, bandwidth));
}

const LinkPhase& phase_at(const LinkHistory& history, Time when) {
    const auto after = std::find_if(history.begin(), history.end(),
                                    [&](const LinkPhase& phase) { return phase.since > when; });
    return after == history.begin() ? history.front() : *(after - 1);
}

Time time_sent(const LinkHistory& history, Time begin, const Message& message) {
    Movement progress;
    Time now = begin;
    for (auto phase = history.begin() + (&phase_at(history, begin) - history.data());; ++phase) {
        const bool last = phase + 1 == history.end();
        const Time left = progress.advance(now, whole_time(*phase, message));
        if (left != results::never && (last || now + left <= phase[1].since)) return now + left;
        if (last) return results::never;
        now = std::max(now, phase[1].since);
    }
}

}  // namespace deadrank::sim
