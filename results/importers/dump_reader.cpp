// results/importers/dump_reader.cpp — Sequence numbers are the group's own; a completed entry without a time
// of completion lasted for its duration_ms, 0 if it has none.
#include "results/importers/dump_reader.h"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/emitters/c10d_names.h"
#include "results/emitters/stamps.h"
#include "results/record/words.h"

namespace deadrank::results::importers {

namespace {

using Json = nlohmann::json;

std::int64_t elements(const Json& sizes) {
    std::int64_t all = 0;
    for (const Json& shape : sizes) {
        std::int64_t one = 1;
        for (const Json& length : shape) one *= length.get<std::int64_t>();
        all += one;
    }
    return all;
}

std::int64_t time_or(const Json& entry, const char* key, std::int64_t otherwise) {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_number() || found->get<std::int64_t>() <= 0) return otherwise;
    return found->get<std::int64_t>();
}

struct Read {
    std::int64_t created = 0, ended = no_time;
    std::int64_t collective_seq = 0, p2p_seq = 0, count = 0;
    emitters::ProfiledOp op;
    Dtype dtype = Dtype::none;
    std::string group, description;
};

Read read_entry(const Json& entry, std::int32_t size) {
    Read read;
    read.created = entry.at("time_created_ns").get<std::int64_t>();
    read.collective_seq = entry.at("collective_seq_id").get<std::int64_t>();
    read.p2p_seq = entry.at("p2p_seq_id").get<std::int64_t>();
    read.op = emitters::op_of_profiling_name(entry.at("profiling_name").get_ref<const std::string&>());
    const Json& dtypes = entry.value("input_dtypes", Json::array());
    if (!dtypes.empty()) read.dtype = emitters::dtype_of_scalar_type(dtypes[0].get<std::string>());
    read.count = emitters::count_of(read.op.op, elements(entry.at("input_sizes")),
                                    elements(entry.at("output_sizes")), size);
    // gloo's entries stay "scheduled"; only "retired" says that they are done.
    const bool done = entry.at("state") == "completed" || entry.value("retired", false);
    if (done) {
        const double lasted = entry.value("duration_ms", 0.0);
        read.ended = time_or(entry, "time_discovered_completed_ns",
                             read.created + static_cast<std::int64_t>(lasted * 1e6));
    }
    return read;
}

void record_dump_entry(const Read& read, Rank rank, const KnownGroup* group, Story& story) {
    const Op op = read.op.op;
    if (op == Op::none || group == nullptr) return;
    const bool p2p = op == Op::send || op == Op::recv;
    const std::int64_t seq = p2p ? read.p2p_seq : read.collective_seq;
    // The group gets its number at the end, so it is looked up then.
    story.add_event(read.created, rank, [=](Evidence&) -> Payload {
        if (p2p) return P2pEnter{group->id, seq, read.count, read.op.peer, 0, op, read.dtype};
        return CollectiveEnter{group->id, seq, read.count, -1, op, read.dtype, ReduceOp::none};
    });
    if (read.ended == no_time) return;
    story.add_event(read.ended, rank, [=](Evidence&) -> Payload {
        if (p2p) return P2pLeave{group->id, seq, read.op.peer, op, Code::ok};
        return CollectiveLeave{group->id, seq, op, Code::ok};
    });
}

}  // namespace

void read_dump(const Json& dump, Rank rank, Story& story) {
    std::vector<Read> all;
    std::map<std::string, std::int32_t> sizes;
    std::map<std::string, std::int64_t> first_created;  // of each group
    for (const auto& [name, group] : dump.at("pg_config").items())
        sizes[name] = static_cast<std::int32_t>(numbers_in(group.at("ranks").get<std::string>()).size());
    const auto entries = dump.find("entries");
    for (const Json& entry : entries == dump.end() ? Json::array() : *entries) {
        const Json& group = entry.at("process_group");
        const std::string name = group.at(0).get<std::string>();
        all.push_back(read_entry(entry, sizes.count(name) > 0 ? sizes[name] : 1));
        all.back().group = name;
        all.back().description = group.at(1).get<std::string>();
        first_created.try_emplace(name, all.back().created);
    }
    story.has_dump(rank);
    const std::string library = dump.value("comm_lib_version", dump.value("nccl_version", std::string()));
    if (!library.empty()) story.process(rank).versions["nccl"] = library;
    (void)story.process(rank);
    for (const auto& [name, config] : dump.at("pg_config").items()) {
        // torch 2.11 names gloo's default group "" here and "0" in its entries.
        const std::string desc = name.empty() ? "default_pg" : config.at("desc").get<std::string>();
        KnownGroup& group =
            story.group(name.empty() ? "0" : name, desc, numbers_in(config.at("ranks").get<std::string>()));
        const auto first = first_created.find(group.name);
        if (first != first_created.end()) group.joined.try_emplace(rank, first->second);
        if (!all.empty()) group.joined.try_emplace(rank, all.front().created);
    }
    std::map<std::string, const KnownGroup*> groups;  // of those names that have entries
    for (const auto& [name, created] : first_created) groups[name] = story.group_named(name, rank);
    for (const Read& read : all) {
        if (read.ended == no_time && read.op.op != Op::none) story.unfinished(rank);
        record_dump_entry(read, rank, groups[read.group], story);
    }
}

void read_ras(const Json& report, Story& story) {
    std::int64_t at = no_time;
    if (const auto stamp = emitters::read_nccl_stamp(report.value("timestamp", std::string()))) at = *stamp;
    const std::string version = report.value("nccl_version", std::string());
    for (const Json& comm : report.at("communicators")) {
        std::int64_t most = 0;
        const bool world = comm.at("size") == report.at("communicators").at(0).at("size");
        const auto launched = [](const Json& rank) {
            std::int64_t all = 0;
            for (const auto& [op, count] : rank.at("collective_counts").items())
                all += count.get<std::int64_t>();
            return all;
        };
        for (const Json& rank : comm.at("ranks")) most = std::max(most, launched(rank));
        for (const Json& rank : comm.at("ranks")) {
            const auto number = rank.at("rank").get<Rank>();
            if (world) {
                story.names(rank.at("host").get<std::string>(), rank.at("pid").get<std::int32_t>(), number);
                story.process(number).gpu = rank.at("cuda_dev").get<std::int32_t>();
                if (!version.empty()) story.process(number).versions.try_emplace("nccl", version);
            }
            if (launched(rank) < most) {
                story.log(at, no_rank, 1,
                          fmt::format("RAS {}: rank {} has launched {} operations, others {}",
                                      comm.at("hash").get<std::string>(), number, launched(rank), most));
            }
        }
        for (const Json& rank : comm.value("missing_ranks", Json::array())) {
            const auto number = rank.at("rank").get<Rank>();
            if (world)
                story.names(rank.at("host").get<std::string>(), rank.at("pid").get<std::int32_t>(), number);
            story.log(
                at, no_rank, 1,
                fmt::format("RAS {}: rank {} does not answer", comm.at("hash").get<std::string>(), number));
        }
        if (world) story.world_size(comm.at("size").get<std::int32_t>());
    }
}

void read_error_file(const Json& file, Rank rank, Story& story) {
    const Json& message = file.at("message");
    const Json extra = message.is_object() ? message.value("extraInfo", Json::object()) : Json::object();
    const std::string words =
        message.is_object() ? message.at("message").get<std::string>() : message.get<std::string>();
    const std::string stack = extra.value("py_callstack", words);
    std::int64_t at = no_time;
    if (extra.contains("timestamp"))
        at = std::strtoll(extra.at("timestamp").get<std::string>().c_str(), nullptr, 10) * 1'000'000'000;
    story.log(at, rank, 2, stack);
}

}  // namespace deadrank::results::importers
