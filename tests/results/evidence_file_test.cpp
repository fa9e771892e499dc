// tests/results/evidence_file_test.cpp — Goal: what is written reads back, every kind and every field; a torn
// file loses its torn line only; anything else that is wrong is refused with file and line.
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/record/believed_ranks.h"
#include "results/record/truth.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

std::filesystem::path place(const std::string& name) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + "_" + name);
}

// Every field gets a value of its own, none of them the value it is born with.
struct Filler {
    Evidence& evidence;
    int next = 2;

    template <class Field>
    void operator()(std::string_view name, Field& field) {
        ++next;
        if constexpr (std::is_same_v<Field, TextId>)
            field = evidence.text(fmt::format("{} \"{}\"\n", name, next));
        else if constexpr (std::is_same_v<Field, Op>)
            field = Op::reduce_scatter;
        else if constexpr (std::is_same_v<Field, Dtype>)
            field = Dtype::bf16;
        else if constexpr (std::is_same_v<Field, ReduceOp>)
            field = ReduceOp::avg;
        else if constexpr (std::is_same_v<Field, Phase>)
            field = Phase::backward;
        else if constexpr (std::is_same_v<Field, Code>)
            field = Code::remote_error;
        else if constexpr (std::is_same_v<Field, std::uint64_t>)
            field = 0xfedcba9876543210u + static_cast<unsigned>(next);
        else if constexpr (std::is_floating_point_v<Field>)
            field = next + 0.1;
        else if (name == "world_size")  // a job of so few events has no millions of ranks
            field = static_cast<Field>(2'000 + next);
        else
            field = static_cast<Field>(next * 100'000'007LL % 2'000'000'011LL);
    }
};

template <std::size_t index = 0>
void record_every_kind(Evidence& evidence) {
    if constexpr (index < std::variant_size_v<Payload>) {
        std::variant_alternative_t<index, Payload> payload;
        Filler filler{evidence};
        decltype(payload)::fields(payload, filler);
        evidence.record({Time{static_cast<std::int64_t>(index)}, static_cast<Rank>(index), payload});
        record_every_kind<index + 1>(evidence);
    }
}

std::vector<std::string> lines_of(const Evidence& evidence) {
    std::vector<std::string> lines;
    for (const Event& event : evidence.events()) lines.push_back(to_json_line(evidence, event));
    return lines;
}

TEST(EvidenceFile, ReadsBackEveryKindAndEveryField) {
    Evidence evidence;
    record_every_kind(evidence);
    evidence.finish(Time{12'345});
    const auto file = place("all.jsonl");
    ASSERT_TRUE(write_evidence(evidence, file));
    const auto back = read_evidence(file);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->observed_until(), Time{12'345});
    EXPECT_EQ(back->events().size(), std::variant_size_v<Payload>);
    EXPECT_EQ(lines_of(*back), lines_of(evidence));
    EXPECT_TRUE(back->notes().empty());
    // The lines agree although they might both lack a field: look at one payload by hand.
    const auto* save = back->each<CheckpointSave>().front()->as<CheckpointSave>();
    EXPECT_EQ(save->digest, 0xfedcba9876543210u + 5);
    EXPECT_EQ(save->result, Code::remote_error);
    EXPECT_EQ(back->text(save->path), "path \"8\"\n");
}

TEST(EvidenceFile, KeepsWhatIsNotANumber) {
    Evidence evidence;
    const double infinity = std::numeric_limits<double>::infinity();
    evidence.record({0s, 0, StepEnd{1, std::nan(""), -infinity}});
    evidence.record({0s, 0, StepEnd{2, infinity, 0.1}});
    evidence.finish(0s);
    const auto file = place("nan.jsonl");
    ASSERT_TRUE(write_evidence(evidence, file));
    const auto back = read_evidence(file);
    ASSERT_TRUE(back);
    const auto steps = back->each<StepEnd>();
    EXPECT_TRUE(std::isnan(steps[0]->as<StepEnd>()->loss));
    EXPECT_EQ(steps[0]->as<StepEnd>()->gradient_norm, -infinity);
    EXPECT_EQ(steps[1]->as<StepEnd>()->loss, infinity);
    EXPECT_EQ(steps[1]->as<StepEnd>()->gradient_norm, 0.1);
}

TEST(EvidenceFile, LosesOnlyTheTornLine) {
    const auto file = place("torn.jsonl");
    std::ofstream(file) << R"({"deadrank":"evidence","version":1,"observed_until":7})"
                        << "\n"
                        << R"({"t":5,"rank":1,"kind":"step.begin","step":3})"
                        << "\n"
                        << R"({"t":6,"rank":1,"kind":"step.e)";
    const auto back = read_evidence(file);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->events().size(), 1u);
    ASSERT_EQ(back->notes().size(), 1u);
    EXPECT_NE(back->notes()[0].find(":3:"), std::string::npos) << back->notes()[0];
}

TEST(EvidenceFile, LeavesOutUnknownKindsAndCountsThem) {
    const auto file = place("unknown.jsonl");
    std::ofstream(file) << R"({"deadrank":"evidence","version":1})"
                        << "\n"
                        << R"({"t":5,"rank":1,"kind":"moon.phase","full":true})"
                        << "\n"
                        << R"({"t":6,"rank":1,"kind":"moon.phase"})"
                        << "\n"
                        << R"({"t":9,"rank":2,"kind":"step.begin","step":3,"mood":"fine"})"
                        << "\n";
    const auto back = read_evidence(file);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->events().size(), 1u);
    EXPECT_EQ(back->observed_until(), Time{9}) << "nobody said how long was watched: until the last event";
    ASSERT_EQ(back->notes().size(), 1u);
    EXPECT_NE(back->notes()[0].find("2 events of the unknown kind 'moon.phase'"), std::string::npos);
}

TEST(EvidenceFile, RefusesWhatCannotBeMeantWithFileAndLine) {
    const std::string head = R"({"deadrank":"evidence","version":1})";
    const std::vector<std::pair<std::string, std::string>> rows = {
        {"", "no evidence to read"},
        {"hello\n", ":1:1: this is not an evidence file"},
        {R"({"deadrank":"truth","version":1})"
         "\n",
         ":1:1: this is not an evidence file"},
        {R"({"deadrank":"evidence","version":99})"
         "\n",
         ":1:1: evidence of version 99 cannot be read"},
        {R"({"deadrank":"evidence"})"
         "\n",
         ":1:1: evidence of version null"},
        {head + "\nnot json\n", ":2:1: this line is not a JSON object"},
        {head + "\n[1]\n" + head + "\n", ":2:1: this line is not a JSON object"},
        {head + "\n" + R"({"t":1,"rank":0})" + "\n", ":2:1: this event cannot be read"},
        {head + "\n" + R"({"t":1,"rank":0,"kind":"step.begin","step":"seven"})" + "\n",
         ":2:1: this event cannot be read"},
        {head + "\n" + R"({"t":1,"rank":0,"kind":"rank.log","line":7})" + "\n",
         ":2:1: this event cannot be read: incompatible"},
        {head + "\n" + R"({"t":-1,"rank":0,"kind":"rank.exit","code":0,"signal":0})" + "\n",
         ":2:1: the event is before the job's start"},
        {R"({"deadrank":"evidence","version":1,"observed_until":-1})"
         "\n",
         ":1:1: observed_until is before"},
    };
    const auto file = place("bad.jsonl");
    for (const auto& [content, words] : rows) {
        std::ofstream(file, std::ios::trunc) << content;
        const auto back = read_evidence(file);
        ASSERT_FALSE(back) << content;
        EXPECT_NE(back.error().text().find(words), std::string::npos) << back.error().text();
        EXPECT_NE(back.error().text().find("bad.jsonl"), std::string::npos) << back.error().text();
    }
    EXPECT_FALSE(read_evidence(place("missing")));
    EXPECT_FALSE(read_evidence(testing::TempDir()));
}

// Without its end a job looks quiet, and its ranks as if they stood still.
TEST(EvidenceFile, RefusesAFileThatHasLostItsEnd) {
    EvidenceBuilder job(2);
    job.start().world().step(0).all_exit();
    const auto file = place("whole.jsonl");
    ASSERT_TRUE(results::write_evidence(job.watched(), file));
    ASSERT_TRUE(read_evidence(file));
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const std::size_t kept : {text.find('\n') + 1, text.rfind('\n', text.size() - 2) + 1}) {
        std::ofstream(file, std::ios::trunc) << text.substr(0, kept);
        const auto cut = read_evidence(file);
        ASSERT_FALSE(cut);
        EXPECT_NE(cut.error().text().find("the file was cut or changed"), std::string::npos)
            << cut.error().text();
    }
}

TEST(EvidenceFile, RefusesDevicesAndPipesThatNobodyWrites) {
    EXPECT_FALSE(read_evidence("/dev/zero"));
    const auto pipe = std::filesystem::path(testing::TempDir()) / "deadrank_no_writer";
    std::filesystem::remove(pipe);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_FALSE(read_evidence(pipe));
    std::filesystem::remove(pipe);
}

TEST(EvidenceFile, RefusesRanksOfWhichNobodyCouldHoldAList) {
    for (const char* line : {R"({"t":0,"rank":2000000000,"kind":"rank.exit","code":1,"signal":0})",
                             R"({"t":0,"rank":-7,"kind":"rank.exit","code":1,"signal":0})"}) {
        const auto file = std::filesystem::path(testing::TempDir()) / "deadrank_many_ranks.jsonl";
        std::ofstream(file) << R"({"deadrank":"evidence","version":1,"observed_until":9})"
                            << "\n"
                            << line << "\n";
        const auto evidence = read_evidence(file);
        ASSERT_FALSE(evidence) << line;
        EXPECT_NE(evidence.error().text().find("no number of a rank"), std::string::npos);
        std::filesystem::remove(file);
    }
}

// Whatever reads evidence has lists of all ranks, so few events may not imply millions of them.
TEST(EvidenceFile, RefusesRanksThatAreTooManyForItsEvents) {
    const auto read = [](const std::string& line) {
        const auto file = place("ranks.jsonl");
        std::ofstream(file) << "{\"deadrank\":\"evidence\",\"version\":1,\"observed_until\":9}\n"
                            << line << "\n";
        return read_evidence(file);
    };
    for (const char* line : {R"({"t":2,"rank":9999999,"kind":"rank.exit","code":1})",
                             R"({"t":0,"rank":-1,"kind":"job.start","world_size":2000000000})"}) {
        const auto evidence = read(line);
        ASSERT_FALSE(evidence) << line;
        EXPECT_NE(evidence.error().text().find("ranks.jsonl:2:1: this line implies"), std::string::npos)
            << evidence.error().text();
    }
    EXPECT_TRUE(read(R"({"t":2,"rank":200000,"kind":"rank.exit","code":1})"));
    EXPECT_EQ(ranks_believed(1'000'000), 4'000'000);
}

TEST(EvidenceFile, SortsEventsOfRealProcessesByTimeAndKeepsTheirOrderOtherwise) {
    Evidence evidence;
    evidence.record({Time{5}, 1, StepBegin{1}});
    evidence.record({Time{3}, 0, StepBegin{2}});
    evidence.record({Time{5}, 0, StepBegin{3}});
    EXPECT_EQ(evidence.each<StepBegin>().front()->as<StepBegin>()->step, 1);
    evidence.finish(Time{4});
    const auto steps = evidence.each<StepBegin>();
    EXPECT_EQ(steps[0]->as<StepBegin>()->step, 2);
    EXPECT_EQ(steps[1]->as<StepBegin>()->step, 1);
    EXPECT_EQ(steps[2]->as<StepBegin>()->step, 3);
    EXPECT_EQ(evidence.observed_until(), Time{5});
    const Evidence moved = std::move(evidence);
    EXPECT_EQ(moved.each<StepBegin>().size(), 3u);
    EXPECT_EQ(moved.world_size(), 2);
}

TEST(TruthFile, ReadsBackWhatWasWrittenAndRefusesTheRest) {
    Truth truth;
    truth.marks.push_back({.at = 7s,
                           .kind = MarkKind::applied,
                           .fault = 2,
                           .blame = {.ranks = {1, 3},
                                     .nodes = {0},
                                     .step = 0,
                                     .variable = "RANK",
                                     .component = "nccl",
                                     .collective = "all_reduce",
                                     .shard = "weights"},
                           .says = "a \"word\""});
    truth.marks.push_back({.at = 8s, .kind = MarkKind::deadlock});
    truth.ends = {RankEnd::finished, RankEnd::killed, RankEnd::stuck};
    truth.waits_for = {"rank 0 waits for rank 1"};
    truth.interrupted = true;
    truth.waiting = {{1s, 2s}, {3s, 4s}};
    const auto file = place("truth.json");
    ASSERT_TRUE(write_truth(truth, file));
    const auto back = read_truth(file);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->marks, truth.marks);
    EXPECT_EQ(back->ends, truth.ends);
    EXPECT_EQ(back->waits_for, truth.waits_for);
    EXPECT_TRUE(back->interrupted);
    EXPECT_EQ(back->waiting, truth.waiting);
    EXPECT_FALSE(back->completed());
    EXPECT_EQ(back->first_fault(), 7s);

    for (const std::string bad : {"", "{", "[]", R"({"deadrank":"truth","version":2})",
                                  R"({"deadrank":"truth","version":1,"marks":[],"ends":["lost"]})"}) {
        std::ofstream(file, std::ios::trunc) << bad;
        EXPECT_FALSE(read_truth(file)) << bad;
    }
    EXPECT_FALSE(read_truth(place("missing")));
}

}  // namespace
}  // namespace deadrank::tests
