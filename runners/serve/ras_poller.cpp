// runners/serve/ras_poller.cpp — Server and client in one process, with a real socket between them: what a
// live NCCL would send goes the same way.
#include "runners/serve/ras_poller.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <thread>

#include "results/emitters/processes.h"
#include "results/emitters/snapshot.h"
#include "results/external/ras_verdict.h"
#include "runners/serve/ras.h"

namespace deadrank::runners::serve {

using results::external::RasTrouble;

namespace {

// Serves as long as it lives.
class Serving {
public:
    explicit Serving(std::unique_ptr<RasServer> server)
        : server_(std::move(server)), thread_([this] { server_->run(stop_); }) {}
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;
    ~Serving() {
        stop_ = true;
        thread_.join();
    }

private:
    std::unique_ptr<RasServer> server_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace

std::vector<std::string_view> RasPoller::symptoms() const {
    return {"collective_deadlock_hang", "collective_timeout_abort", "remote_peer_connection_error"};
}

std::vector<results::Finding> RasPoller::examine(const results::Evidence& evidence) const {
    const results::Time at = results::emitters::first_silence(evidence);
    // A job that goes on, or has ended, is not asked about: counts of one moment differ in every healthy job.
    if (at == results::emitters::snapshot_of(evidence).at &&
        results::emitters::snapshot_of(evidence).occasion != results::emitters::Occasion::silence)
        return {};
    auto server = RasServer::listen(0, [&] { return results::emitters::ras_report(evidence, at); });
    if (!server) throw std::runtime_error(server.error().text());
    RasQuestion question;
    question.host = "127.0.0.1";
    question.port = (*server)->port();
    const Serving serving(std::move(*server));
    auto body = ask_ras(question);
    if (!body) throw std::runtime_error(body.error().text());
    auto report = results::external::read_ras_json(*body);
    if (!report) throw std::runtime_error(report.error().text());
    std::map<std::pair<std::string, int>, results::Rank> processes;
    for (const auto& [process, place] : results::emitters::places_of(evidence, at))
        processes[{place.host, place.pid}] = process;
    results::Finding finding{.symptom = "collective_deadlock_hang",
                             .detector = std::string(name()),
                             .blame = {},
                             .at = at,
                             .says = {}};
    for (const RasTrouble& trouble : results::external::troubles_in(*report)) {
        const auto found = processes.find({trouble.who.host, trouble.who.pid});
        if (found == processes.end()) continue;
        finding.blame.ranks.push_back(found->second);
        if (finding.says.empty()) finding.says = trouble.says;
    }
    if (finding.blame.ranks.empty()) return {};
    std::sort(finding.blame.ranks.begin(), finding.blame.ranks.end());
    finding.blame.ranks.erase(std::unique(finding.blame.ranks.begin(), finding.blame.ranks.end()),
                              finding.blame.ranks.end());
    return {finding};
}

}  // namespace deadrank::runners::serve
