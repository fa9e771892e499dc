// Goal: every format that we write for other people's tools stays as it is, byte for byte. Rewritten by
// UPDATE_GOLDEN=1, reviewed as a diff.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/emitters/c10d_names.h"
#include "results/emitters/emitter_catalog.h"
#include "results/emitters/flight_recorder.h"
#include "results/emitters/logs.h"
#include "tests/results/incident.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using results::emitters::EmittedFile;
using results::emitters::snapshot_of;
using results::emitters::SnapshotReason;

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class GoldenFormat : public testing::TestWithParam<std::string_view> {};

TEST_P(GoldenFormat, IsWrittenAsItWas) {
    const auto* emitter = results::emitters::find_emitter(GetParam());
    ASSERT_NE(emitter, nullptr);
    const Evidence evidence = incident();
    const fs::path golden = fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests/data/emitted" / GetParam();
    const auto files = emitter->emit(evidence, snapshot_of(evidence));
    ASSERT_FALSE(files.empty());
    if (std::getenv("UPDATE_GOLDEN")) {
        fs::remove_all(golden);
        ASSERT_TRUE(results::emitters::write_files(files, golden));
        return;
    }
    std::size_t kept = 0;
    for (const auto& one : fs::recursive_directory_iterator(golden)) kept += one.is_regular_file() ? 1 : 0;
    EXPECT_EQ(kept, files.size());
    for (const EmittedFile& file : files) {
        EXPECT_EQ(file.bytes, bytes_of(golden / file.name))
            << file.name << " differs; rewrite with UPDATE_GOLDEN=1 if that is meant";
    }
}

std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const auto& one : results::emitters::all_emitters()) names.push_back(one.name);
    return names;
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, GoldenFormat, testing::ValuesIn(names()),
                         [](const auto& one) { return std::string(one.param); });

TEST(Pickle, HasTheBytesThatTorchWrites) {
    const auto tree = nlohmann::ordered_json::parse(
        R"({"a":1,"b":-1,"c":2147483648,"d":[true,false,null],"e":1.5,"process_group":["0","x"]})");
    std::string expected("\x80\x02}(", 4);
    const auto text = [&](std::string_view words) {
        expected += 'X';
        expected += static_cast<char>(words.size());
        expected += std::string(3, '\0');
        expected += words;
    };
    text("a");
    expected += std::string("J\x01\0\0\0", 5);
    text("b");
    expected += std::string("J\xff\xff\xff\xff", 5);
    text("c");
    expected += std::string("\x8a\x08\0\0\0\x80\0\0\0\0", 10);
    text("d");
    expected += "](\x88\x89Ne";
    text("e");
    expected += std::string("G\x3f\xf8\0\0\0\0\0\0", 9);
    text("process_group");
    text("0");
    text("x");
    expected += "\x86u.";
    EXPECT_EQ(results::emitters::to_pickle(tree), expected);
}

TEST(Snapshot, IsTakenWhenSomebodyWouldLook) {
    EvidenceBuilder hung(4);
    hung.start().world().collective(1, 1, {0, 1, 2, 3});
    hung.enters(0, 1, 2);
    const Evidence evidence = hung.watched(300s);
    const Time last = evidence.events().back().at;
    EXPECT_EQ(snapshot_of(evidence).reason, SnapshotReason::silence);
    EXPECT_EQ(snapshot_of(evidence).at, last + 60s);
    EXPECT_EQ(snapshot_of(incident()).reason, SnapshotReason::watchdog);
    EXPECT_EQ(snapshot_of(EvidenceBuilder(2).start().world().watched(1s)).reason, SnapshotReason::watched);
}

TEST(FlightRecorder, LeavesOutWhoCouldNotDump) {
    const Evidence evidence = incident();
    std::vector<Rank> ranks;
    for (const auto& dump : results::emitters::dumping_ranks(evidence, snapshot_of(evidence)))
        ranks.push_back(dump.rank);
    EXPECT_THAT(ranks, testing::ElementsAre(0, 1, 3)) << "rank 2 was killed";
}

TEST(FlightRecorder, WritesEachReleaseInItsOwnVersion) {
    EXPECT_EQ(results::emitters::flight_recorder_profile("2.6.0").version, "2.4");
    EXPECT_EQ(results::emitters::flight_recorder_profile("2.7.1").version, "2.7");
    EXPECT_EQ(results::emitters::flight_recorder_profile("2.11.0+cu130").version, "2.10");
    EXPECT_EQ(results::emitters::flight_recorder_profile("2.11.0").prefix, "comm_lib_trace_rank_");
    EXPECT_EQ(results::emitters::flight_recorder_profile("").version, "2.4");
}

// What rank 0's NCCL of this release prints about a peer that is gone.
std::string nccl_log_of(const std::string& nccl) {
    EvidenceBuilder story(2);
    for (const Rank rank : {0, 1})
        story.start(rank, story.environment(rank, "NCCL_DEBUG=INFO"), "nccl=" + nccl + "\ntorch=2.11.0");
    story.world();
    story.add(0, CommError{1, Code::remote_error,
                           story.text("socketProgress: Connection closed by remote peer 10.0.0.2<4791>")});
    const Evidence evidence = story.watched();
    return results::emitters::nccl_logs(evidence, snapshot_of(evidence)).at(0).bytes;
}

TEST(NcclLogs, AreWordedAsEachReleaseWordsThem) {
    using testing::HasSubstr;
    using testing::Not;
    const std::string old = nccl_log_of("2.18.5"), middle = nccl_log_of("2.26.2"),
                      recent = nccl_log_of("2.30.7");
    EXPECT_THAT(old, HasSubstr("\n\nnode0:1000:1000 [0] misc/socket.cc:58 NCCL WARN socketProgress"));
    EXPECT_THAT(old, HasSubstr("[0] NCCL INFO comm 0x"));
    EXPECT_THAT(old, Not(HasSubstr("[20")));
    EXPECT_THAT(nccl_log_of("2.21.5"), HasSubstr("NCCL INFO ncclCommInitRank comm 0x"));
    EXPECT_THAT(middle, HasSubstr(":00] node0:1000:1000 [0] misc/socket.cc:58 NCCL WARN socketProgress"));
    EXPECT_THAT(middle, HasSubstr("NCCL INFO ncclCommInitRankConfig comm 0x"));
    EXPECT_THAT(recent, HasSubstr("[0] misc/socket.cc:58 (socketProgressOpt) NCCL WARN socketProgress"));
    EXPECT_THAT(recent, HasSubstr("NCCL INFO [Rank 0] ncclCommInitRankConfig comm 0x"));
    EXPECT_THAT(recent, HasSubstr("NCCL INFO ncclCommInitRankConfig comm 0x"));  // Init COMPLETE
}

TEST(WatchdogTexts, AreWordedAsEachReleaseWordsThem) {
    const auto logged = [](const std::string& torch) {
        EvidenceBuilder story(1);
        story.start(0, story.environment(0), "nccl=2.28.9\ntorch=" + torch).world();
        story.log(0,
                  "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
                  "OpType=ALLREDUCE, NumelIn=16, NumelOut=32, Timeout(ms)=600000) ran for 600012 "
                  "milliseconds before timing out.");
        const Evidence evidence = story.watched();
        return results::emitters::c10d_logs(evidence, snapshot_of(evidence)).at(0).bytes;
    };
    EXPECT_THAT(logged("1.13.1"),
                testing::AllOf(testing::StartsWith("[E ProcessGroupNCCL.cpp:821] "),
                               testing::HasSubstr("OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012")));
    EXPECT_THAT(logged("2.3.0"), testing::AllOf(testing::StartsWith("[rank0]:[E"),
                                                testing::HasSubstr("cpp:525] [Rank 0] Watchdog caught"),
                                                testing::HasSubstr("NumelIn=16, NumelOut=32, Timeout")));
    EXPECT_THAT(logged("2.11.0"), testing::HasSubstr("ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog"));
    EXPECT_THAT(logged("2.15.0"), testing::HasSubstr("timeout: NCCL operation timed out"));
}

TEST(C10dNames, AreReadBackAsTheyWereWritten) {
    using namespace results::emitters;
    for (int op = 1; op <= static_cast<int>(Op::recv); ++op) {
        const auto back = op_of_profiling_name(profiling_name(static_cast<Op>(op), 3, 12));
        EXPECT_EQ(back.op, static_cast<Op>(op));
        if (static_cast<Op>(op) >= Op::send) {
            EXPECT_EQ(back.peer, 12);
        }
        const auto [in, out] = element_counts(static_cast<Op>(op), 64, 8);
        EXPECT_EQ(count_of(static_cast<Op>(op), in, out, 8), 64);
    }
    EXPECT_EQ(op_of_profiling_name("gloo:allreduce_coalesced").op, Op::all_reduce);
    EXPECT_EQ(op_of_profiling_name("nccl:coalesced").op, Op::none);
    for (int dtype = 1; dtype <= static_cast<int>(Dtype::f64); ++dtype)
        EXPECT_EQ(dtype_of_scalar_type(scalar_type(static_cast<Dtype>(dtype))), static_cast<Dtype>(dtype));
}

}  // namespace
}  // namespace deadrank::tests
