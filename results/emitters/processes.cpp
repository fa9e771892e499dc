// results/emitters/processes.cpp — Bus addresses are those of the series that exporters give.
#include "results/emitters/processes.h"

#include <fmt/format.h>

#include "results/emitters/c10d_names.h"

namespace deadrank::results::emitters {

std::map<Rank, ProcessPlace> places_of(const Evidence& evidence, Time at) {
    std::map<Rank, ProcessPlace> places;
    std::int32_t attempt = 0;
    for (const Event& event : evidence.events()) {
        if (event.at > at) break;
        if (const auto* restart = event.as<Restart>()) attempt = restart->attempt;
        if (const auto* start = event.as<RankStart>()) {
            const std::string_view versions = evidence.text(start->versions);
            places[event.rank] = {event.rank,
                                  event.rank,
                                  start->pid,
                                  start->node,
                                  start->gpu,
                                  attempt,
                                  std::string(evidence.text(start->host)),
                                  std::string(value_in(versions, "torch")),
                                  std::string(value_in(versions, "nccl")),
                                  std::string(value_in(versions, "cuda"))};
        }
        if (const auto* enter = event.as<RendezvousEnter>()) {
            const auto found = places.find(event.rank);
            if (found != places.end()) found->second.rank = enter->claimed_rank;
        }
    }
    return places;
}

std::uint64_t comm_hash(CommId comm) { return 0x9e3779b97f4a7c15ULL * comm; }

std::string bus_id(std::int32_t gpu) { return fmt::format("0000:{:02x}:00", 0x19 + gpu * 0x12); }

std::string nccl_prefix(const ProcessPlace& place) {
    return fmt::format("{}:{}:{} [{}]", place.host, place.pid, place.pid, place.gpu);
}

}  // namespace deadrank::results::emitters
