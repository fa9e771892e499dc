// runners/serve/ras_service.cpp — A RAS port that answers as NCCL's does, and a client that polls it.
#include "runners/serve/ras_service.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>

#include "results/emitters/snapshot.h"
#include "results/external/foreign_detectors.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::runners::serve {

// ── A client that is silent for five seconds is disconnected, so that it cannot block others.

namespace asio = boost::asio;
using asio::ip::tcp;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using scenarios::Symptom;
using Trouble = boost::system::error_code;

namespace {

constexpr int patience_seconds = 5;
constexpr std::size_t line_most = 1024, body_most = 64u << 20;

void bound(tcp::socket& socket, int seconds) {
    const timeval limit{seconds, 0};
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

// The next line without its line end; false when the peer is gone or silent.
bool read_line(tcp::socket& socket, asio::streambuf& buffer, std::string& line) {
    Trouble trouble;
    asio::read_until(socket, buffer, '\n', trouble);
    if (trouble) return false;
    std::istream in(&buffer);
    std::getline(in, line);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
}

bool send_text(tcp::socket& socket, const std::string& text) {
    Trouble trouble;
    asio::write(socket, asio::buffer(text), trouble);
    return !trouble;
}

}  // namespace

struct RasServer::Inside {
    asio::io_context context;
    tcp::acceptor acceptor{context};
    std::function<results::emitters::RasReport()> report;

    void talk(tcp::socket& socket) {
        bound(socket, patience_seconds);
        asio::streambuf buffer(line_most);
        std::string line;
        bool json = false;
        while (read_line(socket, buffer, line)) {
            const std::string command = upper(line);
            if (command.starts_with("CLIENT PROTOCOL")) {
                if (!send_text(socket, "SERVER PROTOCOL 2\n")) return;
            } else if (command.starts_with("TIMEOUT ")) {
                const bool number =
                    command.size() > 8 && command.find_first_not_of("0123456789", 8) == command.npos;
                if (!send_text(
                        socket,
                        number ? "OK\n" : fmt::format("ERROR: Invalid timeout value {}\n", line.substr(8))))
                    return;
            } else if (command.starts_with("SET FORMAT ")) {
                const std::string form = command.substr(11);
                json = form == "JSON";
                if (!send_text(socket, json || form == "TEXT"
                                           ? "OK\n"
                                           : fmt::format("ERROR: Invalid format {}\n", line.substr(11))))
                    return;
            } else if (command == "STATUS" || command == "VERBOSE STATUS") {
                const auto status = report();
                send_text(socket,
                          json ? results::emitters::ras_json(status) : results::emitters::ras_text(status));
                return;
            } else if (command == "MONITOR" || command.starts_with("MONITOR ")) {
                // NCCL 2.29 and newer stream events from here on; ncclras shows this line and ends.
                if (!send_text(socket,
                               "ERROR: MONITOR is not served: a run that is over has no events to come; "
                               "ask for STATUS\n"))
                    return;
            } else if (!send_text(socket, fmt::format("ERROR: Unknown command {}\n", line))) {
                return;
            }
        }
    }
};

RasServer::RasServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
RasServer::~RasServer() = default;
std::uint16_t RasServer::port() const { return inside_->acceptor.local_endpoint().port(); }

Result<std::unique_ptr<RasServer>> RasServer::listen(std::uint16_t port,
                                                     std::function<results::emitters::RasReport()> report) {
    auto inside = std::make_unique<Inside>();
    inside->report = std::move(report);
    try {
        const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
        inside->acceptor.open(endpoint.protocol());
        inside->acceptor.set_option(tcp::acceptor::reuse_address(true));
        inside->acceptor.bind(endpoint);
        inside->acceptor.listen();
        inside->acceptor.non_blocking(true);
    } catch (const boost::system::system_error& error) {
        return refuse(ErrorCode::environment,
                      fmt::format("port {} cannot be listened on: {}", port, error.code().message()),
                      "choose another --port, or 0 for any that is free");
    }
    return std::unique_ptr<RasServer>(new RasServer(std::move(inside)));
}

void RasServer::run(const std::atomic<bool>& stop) {
    while (!stop.load()) {
        tcp::socket socket(inside_->context);
        Trouble trouble;
        inside_->acceptor.accept(socket, trouble);
        if (trouble) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            continue;
        }
        socket.non_blocking(false, trouble);
        inside_->talk(socket);
    }
}

Result<std::string> query_ras(const RasQuestion& question) {
    asio::io_context context;
    tcp::socket socket(context);
    Trouble trouble;
    tcp::resolver resolver(context);
    const auto ends = resolver.resolve(question.host, std::to_string(question.port), trouble);
    if (!trouble) asio::connect(socket, ends, trouble);
    if (trouble) {
        return refuse(
            ErrorCode::environment,
            fmt::format("no RAS answers on {}:{}: {}", question.host, question.port, trouble.message()),
            "NCCL 2.24 and newer listen where NCCL_RAS_ADDR says, unless NCCL_RAS_ENABLE=0");
    }
    bound(socket, question.timeout_seconds + patience_seconds);
    asio::streambuf buffer(line_most);
    const auto exchange = [&](const std::string& command, std::string_view expected) -> Result<void> {
        std::string line;
        if (send_text(socket, command + "\n") && read_line(socket, buffer, line) &&
            upper(line).starts_with(expected))
            return {};
        return refuse(
            ErrorCode::bad_input,
            fmt::format("to '{}' it answered '{}' and not '{}'", command, line.substr(0, 80), expected),
            "is this the port of a RAS, and is its NCCL new enough?");
    };
    Result<void> done = exchange("CLIENT PROTOCOL 2", "SERVER PROTOCOL");
    if (done) done = exchange(fmt::format("TIMEOUT {}", question.timeout_seconds), "OK");
    if (done) done = exchange(fmt::format("SET FORMAT {}", question.json ? "json" : "text"), "OK");
    if (!done) return tl::unexpected(done.error());
    if (!send_text(socket, question.verbose ? "VERBOSE STATUS\n" : "STATUS\n"))
        return refuse(ErrorCode::environment, "it closed the connection before it could be asked");
    asio::streambuf rest(body_most);
    asio::read(socket, rest, trouble);
    std::string body(asio::buffers_begin(buffer.data()), asio::buffers_end(buffer.data()));
    body.append(asio::buffers_begin(rest.data()), asio::buffers_end(rest.data()));
    if (trouble == asio::error::eof && !body.empty()) return body;
    return refuse(ErrorCode::environment,
                  fmt::format("its answer broke off after {} bytes: {}", body.size(), trouble.message()),
                  "ask again, or give it more time");
}

// ── Server and client in one process, with a real socket between them, so that the client code is the one
// used with a live NCCL.

using results::external::RasTrouble;

namespace {

// Serves on a thread until destroyed.
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
    return {id_of(Symptom::collective_deadlock_hang), id_of(Symptom::collective_timeout_abort),
            id_of(Symptom::remote_peer_connection_error)};
}

std::vector<results::Finding> RasPoller::examine(const results::Evidence& evidence) const {
    const results::Time at = results::emitters::first_silence(evidence);
    // Only a silent job is asked about: at any moment of a running job, ranks differ in their counts.
    if (at == results::emitters::snapshot_of(evidence).at &&
        results::emitters::snapshot_of(evidence).reason != results::emitters::SnapshotReason::silence)
        return {};
    auto server = RasServer::listen(0, [&] { return results::emitters::ras_report(evidence, at); });
    if (!server) throw std::runtime_error(server.error().text());
    RasQuestion question;
    question.host = "127.0.0.1";
    question.port = (*server)->port();
    const Serving serving(std::move(*server));
    auto body = query_ras(question);
    if (!body) throw std::runtime_error(body.error().text());
    auto report = results::external::read_ras_json(*body);
    if (!report) throw std::runtime_error(report.error().text());
    std::map<std::pair<std::string, int>, results::Rank> processes;
    for (const auto& [process, place] : results::emitters::places_of(evidence, at))
        processes[{place.host, place.pid}] = process;
    results::Finding finding{.symptom = id_of(Symptom::collective_deadlock_hang),
                             .detector = std::string(name()),
                             .blame = {},
                             .at = at,
                             .says = {}};
    for (const RasTrouble& trouble : results::external::find_troubles(*report)) {
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
