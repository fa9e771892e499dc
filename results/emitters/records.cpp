// results/emitters/records.cpp — Inspector writes a collective when it is over, so one that hangs is not in
// its file.
#include "results/emitters/records.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "results/emitters/c10d_names.h"
#include "results/emitters/snapshot.h"
#include "results/emitters/stamps.h"
#include "results/record/text_file.h"

namespace deadrank::results::emitters {

namespace {

using Json = nlohmann::ordered_json;

const char* inspector_name(Op op) {
    switch (op) {
        case Op::broadcast:
            return "Broadcast";
        case Op::reduce:
            return "Reduce";
        case Op::all_gather:
            return "AllGather";
        case Op::reduce_scatter:
            return "ReduceScatter";
        default:
            return "AllReduce";
    }
}

// nccl-tests' factor from algorithm to bus bandwidth.
double bus_factor(Op op, double size) {
    if (op == Op::all_reduce || op == Op::barrier) return 2 * (size - 1) / size;
    return op == Op::broadcast || op == Op::reduce ? 1 : (size - 1) / size;
}

struct Group {
    std::int32_t rank = 0, size = 1, nodes = 1;
};

std::string record_of(const CollectiveEnter& call, const Group& group, const ProcessPlace& place,
                      Time entered, Time left) {
    const auto [in, out] = element_counts(call.op, call.count, group.size);
    const std::int64_t bytes = std::max(in, out) * size_of(call.dtype);
    const double microseconds =
        static_cast<double>(std::max<std::int64_t>((left - entered).count(), 1)) / 1000;
    const double algorithm = static_cast<double>(bytes) / microseconds / 1000;
    return Json{{"header",
                 {{"id", fmt::format("{:#x}", comm_hash(call.comm))},
                  {"rank", group.rank},
                  {"n_ranks", group.size},
                  {"nnodes", group.nodes}}},
                {"metadata",
                 {{"inspector_output_format_version", "v4.0"},
                  {"git_rev", ""},
                  {"rec_mechanism", "nccl_profiler_interface"},
                  {"dump_timestamp_us", wall_clock(left) / 1000},
                  {"hostname", place.host},
                  {"pid", place.pid}}},
                {"coll_perf",
                 {{"coll", inspector_name(call.op)},
                  {"coll_sn", call.seq},
                  {"coll_msg_size_bytes", bytes},
                  {"coll_exec_time_us", microseconds},
                  {"coll_timing_source", "collective_cpu"},
                  {"coll_algobw_gbs", algorithm},
                  {"coll_busbw_gbs", algorithm * bus_factor(call.op, group.size)}}}}
               .dump() +
           "\n";
}

std::string cycle_json(int attempt, int cycle, Time begin, Time end, const std::string& nodes) {
    return Json{{"job_id", "deadrank"},
                {"attempt_index", attempt},
                {"cycle_number", cycle},
                {"cycle_start_time", iso_stamp(begin)},
                {"cycle_end_time", end == never ? Json(nullptr) : Json(iso_stamp(end))},
                {"active_nodes", nodes},
                {"standby_nodes", ""},
                {"cycle_log_file", ""}}
               .dump(2) +
           "\n";
}

}  // namespace

std::vector<EmittedFile> inspector_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<std::pair<Rank, CommId>, Group> groups;
    std::map<std::tuple<Rank, CommId, std::int64_t>, std::pair<const CollectiveEnter*, Time>> open;
    std::map<Rank, std::string> logs;
    std::int32_t nodes = 1;
    for (const Event& event : evidence.events()) {
        const auto place = places.find(event.rank);
        if (const auto* start = event.as<JobStart>()) nodes = start->nodes;
        if (event.at > snapshot.at || place == places.end()) continue;
        if (const auto* enter = event.as<CommInitEnter>())
            groups[{event.rank, enter->comm}] = {enter->rank_in_comm, enter->size, nodes};
        if (const auto* call = event.as<CollectiveEnter>())
            open[{event.rank, call->comm, call->seq}] = {call, event.at};
        if (const auto* left = event.as<CollectiveLeave>(); left && left->result == Code::ok) {
            const auto found = open.find({event.rank, left->comm, left->seq});
            if (found == open.end()) continue;
            const auto [call, entered] = found->second;
            logs[event.rank] +=
                record_of(*call, groups[{event.rank, left->comm}], place->second, entered, event.at);
            open.erase(found);
        }
    }
    std::vector<EmittedFile> files;
    for (auto& [process, text] : logs) {
        const ProcessPlace& place = places.at(process);
        files.push_back(
            {fmt::format("inspector/{}-pid{}.log", file_name_of(place.host), place.pid), std::move(text)});
    }
    return files;
}

std::vector<EmittedFile> nvrx_cycles(const Evidence& evidence, const Snapshot& snapshot) {
    std::int32_t last_node = 0;
    for (const auto& [process, place] : places_of(evidence, snapshot.at))
        last_node = std::max(last_node, place.node);
    const std::string nodes = fmt::format("node[0-{}]", last_node);
    std::vector<EmittedFile> files;
    std::int64_t saved = 0;
    int cycle = 0;
    Time begin{0};
    const auto end_cycle = [&](Time end) {
        files.push_back(
            {fmt::format("nvrx/cycle_info.deadrank.0.{}", cycle), cycle_json(0, cycle, begin, end, nodes)});
        ++cycle;
    };
    bool over = false;
    for (const Event& event : evidence.events()) {
        if (event.at > snapshot.at) break;
        if (event.as<Restart>()) end_cycle(event.at), begin = event.at;
        if (event.as<JobStop>()) end_cycle(event.at), over = true;
        if (const auto* save = event.as<CheckpointSave>(); save && save->result == Code::ok)
            saved = std::max(saved, save->step);
    }
    if (!over) end_cycle(never);
    files.push_back({"nvrx/latest_checkpointed_iteration.txt", fmt::format("{}\n", saved)});
    return files;
}

}  // namespace deadrank::results::emitters
