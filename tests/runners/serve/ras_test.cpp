// Goal: any RAS client can look at a run, in the protocol's own words; ours reads a live NCCL's answer the
// same way, and says who lags and who does not answer.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "results/emitters/snapshot.h"
#include "results/external/foreign_detectors.h"
#include "runners/serve/ras_service.h"
#include "tests/results/incident.h"

namespace deadrank::tests {
namespace {

using results::external::RasTrouble;
using runners::serve::query_ras;
using runners::serve::RasQuestion;
using runners::serve::RasServer;
using testing::ElementsAre;
using testing::HasSubstr;

// Rank 2 of four has made one call fewer than the others, who wait for it.
Evidence lagging() {
    EvidenceBuilder story(4, 2);
    story.start().world().collective(1, 1, {0, 1, 2, 3}).collective(1, 2, {0, 1, 2, 3});
    for (const Rank rank : {0, 1, 3}) story.enters(rank, 1, 3);
    return story.watched(300s);
}

class Ras : public testing::Test {
protected:
    void SetUp() override {
        auto server = RasServer::listen(0, [this] { return results::emitters::ras_report(evidence_, at_); });
        ASSERT_TRUE(server) << server.error().text();
        server_ = std::move(*server);
        thread_ = std::thread([this] { server_->run(stop_); });
        question_.host = "127.0.0.1";
        question_.port = server_->port();
    }
    void TearDown() override {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    // What the server answers to these bytes, until it closes the connection or we have said all.
    std::string answers(const std::string& words) const {
        const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in there{};
        there.sin_family = AF_INET;
        there.sin_port = htons(question_.port);
        there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
        EXPECT_EQ(write(socket, words.data(), words.size()), static_cast<ssize_t>(words.size()));
        shutdown(socket, SHUT_WR);
        std::string text;
        char block[4096];
        for (ssize_t n = 0; (n = ::read(socket, block, sizeof block)) > 0;)
            text.append(block, static_cast<std::size_t>(n));
        close(socket);
        return text;
    }

    Evidence evidence_ = lagging();
    Time at_ = results::emitters::first_silence(evidence_);
    std::unique_ptr<RasServer> server_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
    RasQuestion question_;
};

TEST_F(Ras, SpeaksTheProtocolInAnyCaseAndWithEitherEndOfLine) {
    EXPECT_EQ(answers("client protocol 2\r\nTimeout 3\nset format TEXT\n"), "SERVER PROTOCOL 2\nOK\nOK\n");
    EXPECT_EQ(answers("TIMEOUT soon\n"), "ERROR: Invalid timeout value soon\n");
    EXPECT_EQ(answers("SET FORMAT xml\n"), "ERROR: Invalid format xml\n");
    EXPECT_EQ(answers("HELLO\n"), "ERROR: Unknown command HELLO\n");
    // What newer clients ask for is refused in a line that they print, and the conversation goes on.
    EXPECT_THAT(
        answers("monitor lifecycle\nset format text\n"),
        testing::AllOf(testing::StartsWith("ERROR: MONITOR is not served"), testing::EndsWith("OK\n")));
    EXPECT_EQ(answers(std::string(5000, 'x')), "");
}

TEST_F(Ras, ShowsAMismatchToPeople) {
    question_.json = false;
    const auto body = query_ras(question_);
    ASSERT_TRUE(body) << body.error().text();
    EXPECT_THAT(*body, HasSubstr("RUNNING  MISMATCH"));
    EXPECT_THAT(*body, HasSubstr("Communicator ranks have different AllReduce operation counts"));
    EXPECT_THAT(*body, HasSubstr("3 ranks have launched up to operation 3"));
    EXPECT_THAT(
        *body,
        HasSubstr("Rank 2 has launched up to operation 2 -- GPU 0 managed by process 1002 on node node1"));
}

TEST_F(Ras, TellsOurClientWhoLags) {
    const auto body = query_ras(question_);
    ASSERT_TRUE(body) << body.error().text();
    const auto report = results::external::read_ras_json(*body);
    ASSERT_TRUE(report) << report.error().text();
    const auto troubles = results::external::find_troubles(*report);
    ASSERT_EQ(troubles.size(), 1u);
    EXPECT_EQ(troubles[0].kind, RasTrouble::Kind::lagging);
    EXPECT_EQ(troubles[0].who.rank, 2);
    EXPECT_EQ(troubles[0].who.pid, 1002);
    EXPECT_EQ(troubles[0].launched, 2);
    EXPECT_EQ(troubles[0].others, 3);
}

TEST_F(Ras, SaysWhoDoesNotAnswer) {
    evidence_ = incident();
    at_ = results::emitters::first_silence(evidence_);
    const auto report = results::external::read_ras_json(query_ras(question_).value());
    ASSERT_TRUE(report);
    const auto troubles = results::external::find_troubles(*report);
    ASSERT_EQ(troubles.size(), 1u);
    EXPECT_EQ(troubles[0].kind, RasTrouble::Kind::missing);
    EXPECT_TRUE(troubles[0].who.dead);
    EXPECT_EQ(troubles[0].who.rank, 2);
}

TEST(RasClient, SaysSoWhenNobodyListens) {
    RasQuestion question;
    question.host = "127.0.0.1";
    {
        const auto server = RasServer::listen(0, [] { return results::emitters::RasReport{}; });
        ASSERT_TRUE(server);
        question.port = (*server)->port();
    }
    const auto body = query_ras(question);
    ASSERT_FALSE(body);
    EXPECT_THAT(body.error().what, HasSubstr("no RAS answers on 127.0.0.1"));
}

TEST(RasPoller, NamesTheRankThatLagsAndIsSilentOnAHealthyJob) {
    const runners::serve::RasPoller poller;
    const auto findings = poller.examine(lagging());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_THAT(findings[0].blame.ranks, ElementsAre(2));
    EvidenceBuilder healthy(4);
    healthy.start().world().step(1).step(2).step(3).all_exit();
    EXPECT_TRUE(poller.examine(healthy.watched()).empty());
}

// Everybody has launched the same: the watchdog will time out, and RAS sees nothing.
TEST(RasPoller, IsBlindWhereAllHaveLaunched) {
    EvidenceBuilder stuck(4);
    stuck.start().world().collective(1, 1, {0, 1, 2, 3});
    for (const Rank rank : {0, 1, 2, 3}) stuck.enters(rank, 1, 2);
    EXPECT_TRUE(runners::serve::RasPoller().examine(stuck.watched(300s)).empty());
}

}  // namespace
}  // namespace deadrank::tests
