// tests/runners/backends/local/namespaces_test.cpp — Goal: the nodes' networks are there while they are
// needed, reach each other and nothing else, and are gone afterwards, however the run ended; who may not make
// them is told what it takes.
#include "runners/backends/local/namespaces.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/processes/bounded.h"
#include "runners/backends/local/local_levers.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/mpirun.h"
#include "tests/runners/backends/local/small_plan.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A journal of the test's own.
class State {
public:
    State() : directory_(fs::path(testing::TempDir()) / fmt::format("namespaces-{}", getpid())) {
        setenv("DEADRANK_STATE", directory_.c_str(), 1);
    }
    ~State() {
        unsetenv("DEADRANK_STATE");
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }

private:
    fs::path directory_;
};

std::vector<std::string> ours(int pid) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/run/netns", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(fmt::format("deadrank-{}-", pid))) names.push_back(name);
    }
    return names;
}

// Whatever has the directory of a run of this test in its environment, wherever it went.
std::string of_our_runs() {
    std::string found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
        const std::string environment = process_text(std::atoi(entry.path().filename().c_str()), "environ");
        if (environment.find(fmt::format("/deadrank-{}-", getpid())) != std::string::npos)
            found += entry.path().filename().string() + " ";
    }
    return found;
}

std::string answer_of(std::vector<std::string> command) {
    const auto answer = results::processes::run_bounded(command, {.time = std::chrono::seconds(20)});
    return answer ? answer->out : answer.error().text();
}

class DeviceNamespaces : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = namespaces_missing(); !missing.empty()) GTEST_SKIP() << missing;
        if (const auto probe = Namespaces::make(1); !probe) GTEST_SKIP() << probe.error().text();
    }
    State state_;
};

TEST_F(DeviceNamespaces, AreThereWhileNeededAndGoneAfterwards) {
    {
        auto network = Namespaces::make(2);
        ASSERT_TRUE(network) << network.error().text();
        EXPECT_EQ(ours(getpid()).size(), 3u);
        const std::string routes = answer_of(network->inside(1, {"ip", "-4", "route"}));
        EXPECT_THAT(routes, HasSubstr("10.77.0.0/24 dev eth0"));
        EXPECT_EQ(routes.find("default"), std::string::npos) << "no way leads out of it";
    }
    EXPECT_TRUE(ours(getpid()).empty());
    EXPECT_TRUE(leftovers()->empty());
}

// What a release plays in: no network but loopback, the same user, and the exit code of the command.
TEST(DeviceLoopbackAlone, ReachesNoOtherMachine) {
    const std::string program = R"(
import os, socket, sys
print(os.readlink('/proc/self/ns/net'), os.getuid())
here = socket.create_server(('127.0.0.1', 0))
socket.create_connection(here.getsockname(), timeout=10).close()
try:
    socket.create_connection(('192.0.2.1', 9), timeout=10)
except OSError as trouble:
    print(trouble.strerror)
sys.exit(7)
)";
    const std::vector<std::string> command = {"python3", "-c", program};
    const std::vector<std::string> alone = on_loopback_alone(command);
    if (alone == command) GTEST_SKIP() << "this user may not make a network namespace here";
    const auto answer = results::processes::run_bounded(alone, {.time = std::chrono::seconds(60)});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->code, 7) << answer->how() << answer->last_error_text();
    EXPECT_EQ(answer->out.find(fs::read_symlink("/proc/self/ns/net").string()), std::string::npos);
    EXPECT_THAT(answer->out, HasSubstr(fmt::format("] {}\n", getuid())));
    EXPECT_THAT(answer->out, HasSubstr("Network is unreachable"));
}

TEST_F(DeviceNamespaces, OfAKilledProcessAreTakenBackByUndo) {
    const int child = fork();
    if (child == 0) {
        auto network = Namespaces::make(2);
        raise(SIGKILL);
        _exit(1);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(ours(child).size(), 3u);
    for (const Undone& undone : undo(*leftovers())) EXPECT_TRUE(undone.done) << undone.says;
    EXPECT_TRUE(ours(child).empty());
    EXPECT_TRUE(leftovers()->empty());
}

// Goal: the hook's rules do in there what they say: statements of Python after a rank has moved to node 0.
TEST_F(DeviceNamespaces, TheHookCutsRefusesAndLosesAndTakesItBack) {
    LocalLevers levers(2, 1, {});
    auto network = Namespaces::make(2);
    ASSERT_TRUE(network) << network.error().text();
    const std::string script = R"(
import socket, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from deadrank_hook.network import Network
Network(1)
store = socket.create_server(('10.77.0.2', 29500))  # stays on node 1, whose socket it is
network = Network(0)
def meets(expected, **change):
    assert network.change(**change) is None, network.change(**change)
    with socket.socket() as caller:
        caller.settimeout(0.3 if expected is silent else 10)
        try:
            caller.connect(('10.77.0.2', 9))
        except OSError as trouble:
            assert isinstance(trouble, expected), (change, trouble)
refused, silent = ConnectionRefusedError, socket.timeout
meets(refused)                        # a healthy way to a port where nobody listens
meets(silent, down=True)              # the cable
meets(refused, down=False)
meets(silent, peer='10.77.0.2', down=True)
meets(refused, peer='10.77.0.2', down=False)
meets(silent, peer='10.77.0.2', one_way=True, loss=1000000000)
meets(refused, peer='10.77.0.2', one_way=True, loss=0)
meets(refused, peer='10.77.0.3', down=True)

Network(1)
arrived = socket.socket(type=socket.SOCK_DGRAM)
arrived.bind(('10.77.0.2', 29501))
network = Network(0)
assert network.change(peer='10.77.0.2', loss=500000000) is None
with socket.socket(type=socket.SOCK_DGRAM) as caller:
    for number in range(400):
        try:
            caller.sendto(b'?', ('10.77.0.2', 29501))
        except PermissionError:  # that is how a dropped datagram looks to its own sender
            pass
arrived.settimeout(0.3)
count = 0
try:
    while True:
        arrived.recv(1)
        count += 1
except socket.timeout:
    pass
assert 120 < count < 280, count
assert network.change(peer='10.77.0.2', loss=0) is None

there = socket.create_connection(('10.77.0.2', 29500), timeout=10)
here = store.accept()[0]
here.settimeout(10)
assert network.change(peer='10.77.0.2', down=True, reset=True) is None
for end in (there, here):  # what is said after the break reaches nobody, and whoever says it knows
    try:
        while True:
            end.sendall(b'?')
            end.recv(1)
    except ConnectionResetError:
        pass
)";
    const auto answer = results::processes::run_bounded(
        {"python3", "-c", script, DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/hook"},
        {.time = std::chrono::seconds(60)}, {}, {"DEADRANK_NETWORK=" + network->places_of_ranks(levers)});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_TRUE(answer->well()) << answer->err;
}

// ── The levers, with and without.
TEST(NetworkLevers, CutANodesCableAndAPairsWayByTheFirstRankThere) {
    LocalLevers levers(4, 2, {});
    levers.network_missing("");
    ASSERT_TRUE(levers.pull(inject::ChangeLink{{.from = 1, .to = -1, .down = true}}));
    ASSERT_TRUE(
        levers.pull(inject::ChangeLink{{.from = 0, .to = 1, .one_way = true, .loss_ppb = 10'000'000}}));
    EXPECT_TRUE(levers.network_changed());
    const auto pulls = levers.take();
    ASSERT_EQ(pulls.size(), 2u);
    EXPECT_EQ(pulls[0].rank, 2);
    EXPECT_THAT(pulls[0].json, HasSubstr(R"("peer":"")"));
    EXPECT_EQ(pulls[1].rank, 0);
    EXPECT_THAT(pulls[1].json, HasSubstr(R"("loss":10000000)"));
    EXPECT_THAT(pulls[1].json, HasSubstr(R"("peer":"10.77.0.2")"));
}

TEST(NetworkLevers, RefuseWithWhatItTakesWhereThereIsNoNetworkOfOnesOwn) {
    LocalLevers levers(2, 1, {});
    levers.network_missing("network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN)");
    const auto done = levers.pull(inject::ChangeLink{{.from = 0, .to = 1, .loss_ppb = 10'000'000}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_THAT(done.error().text(), HasSubstr("need root"));
    EXPECT_FALSE(levers.network_changed());
}

// Goal: three real ranks on three nodes, of which one's cable is pulled, meet the time-out; nothing stays.
TEST_F(DeviceNamespaces, ALostCableOfOneNodeOfThreeEndsTheJob) {
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    scenarios::Plan plan = small_plan("data_parallel", 3, 3, 5);
    plan.cluster["collective_timeout"] = {.type = scenarios::ValueType::duration, .number = 4'000'000'000};
    scenarios::FaultSpec fault{.kind = "drop_link"};
    fault.parameters["node"] = {.type = scenarios::ValueType::nodes, .list = {2}};
    fault.when.step = 2;
    plan.faults = {fault};
    const auto record = LocalRunner().run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    std::size_t steps = 0, timeouts = 0;
    for (const results::Event* event : record->evidence.each<results::StepEnd>()) steps += event->rank == 0;
    for (const results::Event* event : record->evidence.each<results::RankLog>()) {
        const auto line = record->evidence.text(event->as<results::RankLog>()->line);
        timeouts += line.find("Timed out waiting 4000ms") != std::string_view::npos;
    }
    EXPECT_EQ(steps, 2u);
    EXPECT_GT(timeouts, 0u);
    EXPECT_TRUE(ours(getpid()).empty());
    EXPECT_THAT(answer_of({"nft", "list", "tables"}), testing::Not(HasSubstr("deadrank")));
    EXPECT_EQ(of_our_runs(), "") << "processes are left";
}

}  // namespace
}  // namespace deadrank::runners
