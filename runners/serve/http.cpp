// runners/serve/http.cpp — HTTP on loopback: our server, and requests to other people's.
#include "runners/serve/http.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "scenarios/model/document.h"

namespace deadrank::runners::serve {

// ── Boost.Beast over Asio: one session per connection, kept alive between requests.

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using scenarios::ErrorCode;
using scenarios::refuse;

constexpr std::size_t unread_most = 64u << 20;  // of a body that is too long, while its sender still sends
constexpr auto accept_again = std::chrono::milliseconds(50);  // after a failure, or with enough connections

// Connections at a time. The rest of the process needs descriptors, too.
int find_connections_most() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
    return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, 4, 256));
}

// Whether the Host of a request names a server on this address. Example: 127.0.0.1:8080 is served for
// "localhost:8080", and refuses "attacker.example:8080", whose name may resolve to 127.0.0.1.
bool names_this_server(const std::string& host, const tcp::endpoint& own) {
    const std::string port = fmt::format(":{}", own.port());
    if (!host.ends_with(port)) return false;
    std::string name = host.substr(0, host.size() - port.size());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
    if (own.address().is_loopback()) return false;
    std::array<char, 256> machine{};
    if (gethostname(machine.data(), machine.size() - 1) == 0 && name == machine.data()) return true;
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    beast::error_code trouble;
    asio::ip::make_address(name, trouble);
    return !trouble;
}

class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket&& socket, tcp::endpoint listens_on, const HttpServer::Handler& handler,
            const HttpLimits& limits, std::atomic<int>& sessions)
        : stream_(std::move(socket)),
          listens_on_(std::move(listens_on)),
          handler_(handler),
          limits_(limits),
          sessions_(sessions) {
        ++sessions_;
    }
    ~Session() { --sessions_; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void read() {
        parser_.emplace();
        parser_->body_limit(limits_.body);
        stream_.expires_after(limits_.idle);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code trouble, std::size_t) {
                             if (!trouble) self->answer();
                             if (trouble == http::error::body_limit) self->refuse_body();
                         });
    }

private:
    void answer() {
        const auto& request = parser_->get();
        send(respond(request), request.keep_alive(), [](Session& self) {
            if (self.response_.keep_alive()) self.read();
        });
    }

    // The rest of the body is read before the connection is closed. Otherwise the sender would see a reset
    // connection instead of the answer.
    void refuse_body() {
        HttpResponse refusal{.status = 413,
                             .body = fmt::format("the body is longer than {} bytes\n", limits_.body)};
        send(std::move(refusal), false, [](Session& self) {
            beast::error_code ignored;
            self.stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
            self.skip();
        });
    }

    void skip() {
        stream_.async_read_some(asio::buffer(unread_),
                                [self = shared_from_this()](beast::error_code trouble, std::size_t size) {
                                    self->skipped_ += size;
                                    if (!trouble && self->skipped_ < unread_most) self->skip();
                                });
    }

    template <class Then>
    void send(HttpResponse made, bool keep_alive, Then then) {
        response_ = {};
        response_.version(parser_->get().version());
        response_.result(static_cast<unsigned>(made.status));
        response_.set(http::field::content_type, made.type);
        for (const auto& [name, value] : made.headers) response_.set(name, value);
        response_.keep_alive(keep_alive);
        response_.body() = std::move(made.body);
        response_.prepare_payload();
        stream_.expires_after(limits_.idle);
        http::async_write(stream_, response_,
                          [self = shared_from_this(), then](beast::error_code trouble, std::size_t) {
                              if (!trouble) then(*self);
                          });
    }

    HttpResponse respond(const http::request<http::string_body>& request) const {
        if (!names_this_server(std::string(request[http::field::host]), listens_on_))
            return {.status = 421,
                    .body = fmt::format("this server is localhost:{}, and not the Host of this request\n",
                                        listens_on_.port())};
        try {
            return handler_(
                {std::string(request.method_string()), std::string(request.target()), request.body()});
        } catch (const std::exception& thrown) {  // memory that this machine lacks ends no server
            return {.status = 500, .body = fmt::format("internal error: {}\n", thrown.what())};
        }
    }

    beast::tcp_stream stream_;
    tcp::endpoint listens_on_;
    const HttpServer::Handler& handler_;
    const HttpLimits& limits_;
    std::atomic<int>& sessions_;
    beast::flat_buffer buffer_;
    std::array<char, 1 << 14> unread_{};
    std::size_t skipped_ = 0;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
};

}  // namespace

struct HttpServer::Parts {
    explicit Parts(Handler handler_) : handler(std::move(handler_)), acceptor(context), later(context) {}

    // By accept4(), since Asio's accept leaves a moment in which a child inherits the connection.
    void accept() {
        acceptor.async_wait(tcp::acceptor::wait_read, [this](beast::error_code trouble) {
            if (trouble == asio::error::operation_aborted) return;
            if (!trouble && sessions < sessions_most && take_connection()) return accept();
            later.expires_after(accept_again);
            later.async_wait([this](beast::error_code stopped) {
                if (!stopped) accept();
            });
        });
    }

    bool take_connection() {
        const int descriptor =
            ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (descriptor < 0) return false;
        tcp::socket socket(asio::make_strand(context));
        beast::error_code trouble;
        socket.assign(protocol, descriptor, trouble);
        if (trouble) {
            close(descriptor);
            return false;
        }
        std::make_shared<Session>(std::move(socket), listens_on, handler, limits, sessions)->read();
        return true;
    }

    Handler handler;
    HttpLimits limits;
    std::atomic<int> sessions{0};  // outlives the context, whose end ends them
    const int sessions_most = find_connections_most();
    tcp protocol = tcp::v4();
    tcp::endpoint listens_on;
    asio::io_context context;
    tcp::acceptor acceptor;
    asio::steady_timer later;
    std::vector<std::thread> threads;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
    parts_->context.stop();
    for (std::thread& thread : parts_->threads) thread.join();
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

scenarios::Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, int port,
                                                                  Handler handler, const HttpLimits& limits) {
    auto parts = std::make_unique<Parts>(std::move(handler));
    parts->limits = limits;
    beast::error_code trouble;
    const auto ip = asio::ip::make_address(address, trouble);
    const tcp::endpoint endpoint(ip, static_cast<unsigned short>(port));
    if (!trouble) {
        parts->protocol = endpoint.protocol();
        const int descriptor =
            socket(parts->protocol.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (descriptor < 0)
            trouble.assign(errno, boost::system::system_category());
        else
            parts->acceptor.assign(parts->protocol, descriptor, trouble);
    }
    if (!trouble) parts->acceptor.set_option(asio::socket_base::reuse_address(true), trouble);
    if (!trouble) parts->acceptor.bind(endpoint, trouble);
    if (!trouble) parts->acceptor.listen(asio::socket_base::max_listen_connections, trouble);
    if (trouble) {
        return refuse(ErrorCode::environment,
                      fmt::format("cannot listen on {}:{}: {}", address, port, trouble.message()),
                      "choose another with --port, or 0 for any");
    }
    parts->listens_on = parts->acceptor.local_endpoint();
    parts->accept();
    for (int i = 0; i < limits.threads; ++i) {
        parts->threads.emplace_back([context = &parts->context] { context->run(); });
    }
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

std::string random_access() {
    std::random_device source;
    std::string text;
    for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", source());
    return text;
}

scenarios::Result<Address> address_of(const std::string& url) {
    const auto refuse_address = [&](const std::string& why, const std::string& remedy) {
        return refuse(ErrorCode::usage, fmt::format("'{}' {}", url, why), remedy);
    };
    if (url.starts_with("https://"))
        return refuse_address(
            "asks for TLS, which is not spoken here",
            "give an http:// address: a port of the server itself, or one that is forwarded to it");
    if (!url.starts_with("http://")) return refuse_address("is no address", "write http://HOST:PORT");
    std::string rest = url.substr(7);
    Address there;
    if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
        there.prefix = rest.substr(slash);
        rest.resize(slash);
        while (there.prefix.ends_with('/')) there.prefix.pop_back();
    }
    if (rest.find('@') != std::string::npos)
        return refuse_address("holds a password",
                              "forward the port instead: nothing is sent but the questions");
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
        there.port = rest.substr(colon + 1);
        rest.resize(colon);
    }
    const bool digits = !there.port.empty() && there.port.size() < 6 &&
                        there.port.find_first_not_of("0123456789") == std::string::npos;
    if (rest.empty() || !digits) return refuse_address("is no address", "write http://HOST:PORT");
    there.host = rest.starts_with('[') ? rest.substr(1, rest.size() - 2) : rest;
    return there;
}

scenarios::Result<HttpResponse> fetch(const Address& there, const HttpRequest& request,
                                      const std::map<std::string, std::string>& headers,
                                      int timeout_seconds) {
    asio::io_context context;
    beast::tcp_stream stream(context);
    beast::error_code trouble;
    // Beast has no time-outs for synchronous calls, so run an asynchronous chain to its end.
    http::request<http::string_body> message(http::string_to_verb(request.method),
                                             there.prefix + request.target, 11);
    message.set(http::field::host, there.host + ":" + there.port);
    for (const auto& [name, value] : headers) message.set(name, value);
    message.body() = request.body;
    message.prepare_payload();
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    const auto none = [&](const std::string& why) {
        return refuse(ErrorCode::io, fmt::format("{}:{} does not answer: {}", there.host, there.port, why));
    };
    const auto found = tcp::resolver(context).resolve(there.host, there.port, trouble);
    if (trouble) return none(trouble.message());
    stream.expires_after(std::chrono::seconds(timeout_seconds));
    stream.async_connect(found, [&](beast::error_code connected, const tcp::endpoint&) {
        if ((trouble = connected)) return;
        http::async_write(stream, message, [&](beast::error_code written, std::size_t) {
            if ((trouble = written)) return;
            http::async_read(stream, buffer, parser,
                             [&](beast::error_code read, std::size_t) { trouble = read; });
        });
    });
    context.run();
    if (trouble == beast::error::timeout)
        return none(fmt::format("no response within {} s", timeout_seconds));
    if (trouble) return none(trouble.message());
    const auto& answer = parser.get();
    return HttpResponse{static_cast<int>(answer.result_int()), answer.body(),
                        std::string(answer[http::field::content_type]),
                        std::string(answer[http::field::location])};
}

scenarios::Result<HttpResponse> fetch(int port, const HttpRequest& request,
                                      const std::map<std::string, std::string>& headers,
                                      int timeout_seconds) {
    return fetch({"127.0.0.1", std::to_string(port), ""}, request, headers, timeout_seconds);
}

std::string form_value(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.')
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

scenarios::Result<void> await_server(results::processes::Child& server, const std::filesystem::path& log,
                                     int port, const std::string& path, int seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < deadline && !server.poll()) {
        auto answer = fetch(port, {"GET", path, ""}, {}, 5);
        if (answer && answer->status == 200) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    const std::string text = scenarios::read_text(log).value_or("");
    return refuse(ErrorCode::environment,
                  fmt::format("the server on port {} did not come up: {}", port,
                              text.substr(text.size() > 400 ? text.size() - 400 : 0)));
}

int free_port() {
    const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int port = 0;
    if (bind(door, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        getsockname(door, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
        port = ntohs(address.sin_port);
    }
    close(door);
    return port;
}

}  // namespace deadrank::runners::serve
