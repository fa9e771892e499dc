// Goal: a line is its rank's whatever was put before it; packed and strangely coded files are read;
// interleaved tracebacks come apart; two hosts' equal names stay apart; memory is bounded; bad input costs a
// sentence.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "results/analysis/signatures.h"
#include "results/importers/text_source.h"
#include "results/importers/wrapping.h"
#include "tests/results/incidents/incident_files.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using results::importers::LinePrefixes;
using results::importers::read_stamp;
using results::importers::unwrap;
using testing::HasSubstr;

struct Wrapped {
    const char* name;
    std::string line;
    Rank rank = no_rank;
    std::string host, text;
};
void PrintTo(const Wrapped& one, std::ostream* out) { *out << one.name; }

class Wrappings : public testing::TestWithParam<Wrapped> {};

TEST_P(Wrappings, AreTakenOff) {
    std::string line = GetParam().line;
    const auto read = unwrap(line, LinePrefixes{}, 2025);
    EXPECT_EQ(read.rank, GetParam().rank);
    EXPECT_EQ(read.host, GetParam().host);
    EXPECT_EQ(read.text, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    All, Wrappings,
    testing::Values(
        Wrapped{"Torch", "[rank3]: KeyError: 'a'", 3, "", "KeyError: 'a'"},
        Wrapped{"TorchKeepsIndentation", "[rank3]:   File \"x\"", 3, "", "  File \"x\""},
        Wrapped{"TorchBeforeItsOwnBracket", "[rank3]:[E101 P.cpp:1] w", 3, "", "[E101 P.cpp:1] w"},
        Wrapped{"Ray", "(W pid=7, ip=10.0.0.2) [rank5]: x", 5, "10.0.0.2", "x"},
        Wrapped{"RayRepeats", "(W pid=7) x [repeated 3x across cluster]", no_rank, "", "x"},
        Wrapped{"Mpirun", "[1,12]<stderr>:x", 12, "", "x"},
        Wrapped{"MpirunOfHorovod", "Fri Sep 25 16:52:36 2020[4]<stdout>:x", 4, "", "x"},
        Wrapped{"OldUpperCase", "[RANK 3] x", 3, "", "x"},
        Wrapped{"Journal", "Jan 31 10:00:00 n7 python[41]: x", no_rank, "n7", "x"},
        Wrapped{"Kubernetes", "2025-01-31T10:00:00.5Z stderr F [rank1]: x", 1, "", "x"},
        Wrapped{"KubectlPrefix", "[pod/trainer-3/pytorch] x", no_rank, "trainer-3", "x"},
        Wrapped{"Colours", "\x1b[36m(W pid=7)\x1b[0m x", no_rank, "", "x"},
        Wrapped{"Quoted", "> [rank2]: x", 2, "", "x"},
        Wrapped{"BehindABar", " 70%|###  | 12/17 [31:07<13:30,  1.54s/it][rank2]: RuntimeError: x", 2, "",
                "RuntimeError: x"},
        Wrapped{"Plain", "loss (a pid=3 b", no_rank, "", "loss (a pid=3 b"}),
    [](const auto& one) { return std::string(one.param.name); });

// Numbers and names before a line are labels only where the file has them throughout.
TEST(Labels, AreTakenOnlyWhereTheFileHasThem) {
    const std::string labelled = "0: a\n1: b\n0: c\n", hosts = "n1: a\nn2: b\nn1: c\nn2: d\n",
                      numbered = "[18] a\n[19] b\n[20] c\n";
    std::string line = "1: b";
    EXPECT_EQ(unwrap(line, results::importers::prefixes_of(labelled), 2025).rank, 1);
    EXPECT_EQ(unwrap(line, LinePrefixes{}, 2025).rank, no_rank);
    line = "n2: b";
    EXPECT_EQ(unwrap(line, results::importers::prefixes_of(hosts), 2025).host, "n2");
    line = "[19] b";
    const auto counted = unwrap(line, results::importers::prefixes_of(numbered), 2025);
    EXPECT_EQ(counted.rank, no_rank);
    EXPECT_EQ(counted.text, "b");
}

TEST(Stamps, OfAllKindsAreOneTime) {
    const std::int64_t due = 1'738'317'600'000'000'000;  // 2025-01-31 10:00:00
    for (const char* text :
         {"2025-01-31T10:00:00Z", "2025-01-31 10:00:00", "2025/01/31 10:00:00", "01/31/2025 10:00:00",
          "1/31/2025, 10:00:00 AM", "Fri Jan 31 10:00:00 2025", "Jan 31 10:00:00", "0131 10:00:00",
          "131 10:00:00", "2025-01-31T12:00:00+02:00", "2025-01-31_10:00:00"}) {
        const auto stamp = read_stamp(text, 2025);
        ASSERT_TRUE(stamp) << text;
        EXPECT_EQ(stamp->at, due) << text;
    }
    EXPECT_FALSE(read_stamp("12 apples: 3 pears", 2025));
}

TEST(LogReading, UntanglesWhatRanksPrintAtOnce) {
    IncidentFiles files;
    files.put("job.log",
              "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
              "[rank0]:   File \"/a.py\", line 1, in f\n[rank1]:   File \"/b.py\", line 2, in g\n"
              "[rank1]: ValueError: of one\n[rank0]: KeyError: 'of zero'\n");
    const auto read = files.imported();
    ASSERT_TRUE(read);
    std::map<Rank, std::string> said;
    for (const Event* event : read->evidence.each<RankLog>())
        said[event->rank] = read->evidence.text(event->as<RankLog>()->line);
    EXPECT_THAT(said[0], HasSubstr("/a.py"));
    EXPECT_THAT(said[0], HasSubstr("KeyError: 'of zero'"));
    EXPECT_THAT(said[1], HasSubstr("ValueError: of one"));
}

TEST(LogReading, TakesCarriageReturnsNulsAndUtf16) {
    const std::string log = "[rank1]: RuntimeError: CUDA out of memory\r\n";
    std::string wide = "\xff\xfe";
    for (const char c : log) wide += std::string{c, '\0'};
    std::string nuls = " 3%|#\r 4%|##\r" + log;
    nuls.insert(20, std::string(5, '\0'));
    for (const std::string& bytes : {log, wide, nuls, "\xef\xbb\xbf" + log})
        EXPECT_EQ(gist_of(told_by(bytes)), "device_out_of_memory of 1");
}

TEST(LogReading, UnpacksOnTheWay) {
    for (const char* program : {"gzip", "xz", "zstd"}) {
        if (std::system(fmt::format("command -v {} > /dev/null", program).c_str()) != 0) continue;
        IncidentFiles files;
        files.put("job.log", "[rank1]: RuntimeError: CUDA out of memory\n");
        const std::string at = files.path("job.log").string();
        ASSERT_EQ(std::system(fmt::format("{0} -c '{1}' > '{1}.packed' && rm '{1}'", program, at).c_str()),
                  0);
        EXPECT_EQ(gist_of(files.diagnosed()), "device_out_of_memory of 1") << program;
    }
}

TEST(LogReading, UnpacksWhatComesThroughAPipe) {
    IncidentFiles files;
    files.put("job.log", "[rank1]: RuntimeError: CUDA out of memory\n");
    const std::string log = files.path("job.log").string(), pipe = files.path("pipe").string();
    ASSERT_EQ(std::system(fmt::format("mkfifo '{1}' && {{ gzip -c '{0}' > '{1}' & }}", log, pipe).c_str()),
              0);
    const auto source = results::importers::TextSource::open(pipe);
    ASSERT_TRUE(source) << source.error().text();
    std::string line;
    EXPECT_TRUE((*source)->next(line));
    EXPECT_EQ(line, "[rank1]: RuntimeError: CUDA out of memory");
    EXPECT_FALSE((*source)->next(line));
}

TEST(LogReading, TakesNoProgramForALog) {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    std::string bytes(100'000, '\0');
    self.read(bytes.data(), std::ssize(bytes));
    const auto read = IncidentFiles().put("program", bytes).imported();
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().text(), HasSubstr("it is binary"));
}

TEST(LogReading, KeepsWhatCameBeforeADamage) {
    IncidentFiles files;
    std::string log = "[rank1]: RuntimeError: CUDA out of memory\n";
    for (int i = 0; i < 20'000; ++i) log += "step " + std::to_string(i * 7919 % 100'003) + " went\n";
    files.put("job.log", log);
    const std::string at = files.path("job.log").string();
    ASSERT_EQ(std::system(fmt::format("gzip '{0}' && truncate -s 20000 '{0}.gz'", at).c_str()), 0);
    const auto read = files.imported();
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_THAT(read->files.at(0).trouble, HasSubstr("damaged or cut"));
    EXPECT_EQ(gist_of(files.diagnosed()), "device_out_of_memory of 1");
}

TEST(LogReading, KeepsEqualNamesOfTwoHostsApart) {
    IncidentFiles files;
    for (const char* host : {"n1", "n2"}) {
        for (const char* rank : {"0", "1"})
            files.put(std::string(host) + "/rank_" + rank + ".log", "step 1 loss 2\n");
    }
    files.put("n2/rank_1.log", "RuntimeError: CUDA out of memory\n");
    EXPECT_EQ(gist_of(files.diagnosed()), "device_out_of_memory of 3");
}

TEST(LogReading, KeepsAWorkersRankForItsFurtherLines) {
    EXPECT_EQ(gist_of(told_by("(W pid=9) [rank6]: starting\n(W pid=9) RuntimeError: CUDA out of memory\n")),
              "device_out_of_memory of 6");
}

// The same line a million times, and a million different ones: what is kept does not grow.
TEST(LogReading, IsBoundedInMemory) {
    std::string log;
    for (int i = 0; i < 60'000; ++i) log += "[rank0]: RuntimeError: number " + std::to_string(i) + "\n";
    IncidentFiles files;
    files.put("job.log", log);
    const auto read = files.imported();
    ASSERT_TRUE(read);
    EXPECT_LT(read->evidence.events().size(), 10'000u);
    const auto counted = files.diagnosed().incident.reading;
    EXPECT_EQ(counted.lines, 60'000);
    EXPECT_GT(counted.omitted, 50'000);
}

TEST(LogReading, RefusesOnlyWhereNothingIsALog) {
    IncidentFiles empty;
    EXPECT_FALSE(empty.imported());
    empty.put("weights.dat", std::string(4096, '\x01'));
    const auto binary = empty.imported();
    ASSERT_FALSE(binary);
    EXPECT_THAT(binary.error().what, HasSubstr("it is binary"));
    empty.put("trace_rank_0", "\x80\x02}q");
    empty.put("notes.txt", "hello\n");
    const auto some = empty.imported();
    ASSERT_TRUE(some);
    EXPECT_EQ(gist_of(empty.diagnosed()), "unknown");
    EXPECT_FALSE(results::importers::import_paths({empty.path("nowhere.log")}));
}

// A program's text has every phrase of a failure in it; it is no log.
TEST(LogReading, LeavesProgramsBesideLogsAlone) {
    IncidentFiles files;
    files.put("train.py", "raise RuntimeError('CUDA out of memory')\n").put("job.log", "epoch 1 loss 2\n");
    EXPECT_EQ(gist_of(files.diagnosed()), "unknown");
}

// Goal: no phrase is so short that any line has it. A short one needs a condition beside it, as "loss" has.
TEST(Phrases, AreLongEnough) {
    for (const auto& one : results::analysis::all_phrases())
        EXPECT_TRUE(one.words.size() >= 6 || one.also) << one.words;
}

// What others ask for by name they do not spell again.
TEST(Phrases, ThatHaveANameStandInTheTableAlone) {
    for (const char* folder : {"analysis", "detectors", "diagnosis"}) {
        for (const auto& file :
             fs::directory_iterator(DEADRANK_SOURCE_DIRECTORY "/results/" + std::string(folder))) {
            if (file.path().extension() != ".cpp" || file.path().filename() == "phrases.cpp") continue;
            std::ifstream source(file.path());
            for (std::string line; std::getline(source, line);) {
                line.resize(std::min(line.find("//"), line.size()));
                for (const auto& one : results::analysis::all_phrases()) {
                    if (one.sign == results::analysis::Sign::none &&
                        one.stop == results::analysis::StopKind::none)
                        continue;
                    EXPECT_EQ(line.find("\"" + std::string(one.words) + "\""), line.npos)
                        << file.path() << ": " << line;
                }
            }
        }
    }
}

// A phrase with a further condition may stand beside the same one without.
TEST(Phrases, StandOnceInTheTable) {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const auto& one : results::analysis::all_phrases()) {
        if (one.also) continue;
        EXPECT_TRUE(seen.emplace(one.words, one.beside).second) << one.words;
    }
}

TEST(Signatures, TheSpecificComesBeforeTheGeneral) {
    using results::analysis::signature_in;
    EXPECT_EQ(signature_in("torch.OutOfMemoryError: CUDA out of memory")->symptom, "device_out_of_memory");
    EXPECT_EQ(signature_in("MemoryError: host")->symptom, "host_resource_exhaustion");
    EXPECT_EQ(signature_in("UnpicklingError: PytorchStreamReader: failed finding central directory")->cause,
              scenarios::Cause::non_durable_checkpoint_commit);
    EXPECT_EQ(signature_in("a quiet line"), nullptr);
    EXPECT_TRUE(results::analysis::begins_with_exception("torch.distributed.DistBackendError: x"));
    EXPECT_FALSE(results::analysis::begins_with_exception("Error rates: 3"));
}

// A rank that warned for days had no room left for what it said at last.
TEST(LogReading, KeepsTheEndOfALogThatIsTooLong) {
    std::string log;
    for (int i = 0; i < 9'000; ++i)
        log += fmt::format("[rank2]: UserWarning: shard {} failed to load, trying another\n", i);
    log +=
        "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/job/train.py\", line 8, in step\n"
        "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    const auto diagnosis = told_by(log);
    EXPECT_EQ(gist_of(diagnosis), "device_out_of_memory of 2");
    EXPECT_GT(diagnosis.incident.reading.omitted, 4'000);
}

}  // namespace
}  // namespace deadrank::tests
