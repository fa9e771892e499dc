// runners/serve/http.cpp — HTTP on loopback: our server, and requests to other people's.
#include "runners/serve/http.h"

#include <arpa/inet.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <optional>
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

constexpr std::uint64_t body_max = 256 << 20;

class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket&& socket, const HttpServer::Handler& handler)
        : stream_(std::move(socket)), handler_(handler) {}

    void read() {
        parser_.emplace();
        parser_->body_limit(body_max);
        stream_.expires_after(std::chrono::minutes(5));
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code trouble, std::size_t) {
                             if (!trouble) self->answer();
                         });
    }

private:
    void answer() {
        const auto& request = parser_->get();
        HttpResponse made =
            handler_({std::string(request.method_string()), std::string(request.target()), request.body()});
        response_ = {};
        response_.version(request.version());
        response_.result(static_cast<unsigned>(made.status));
        response_.set(http::field::content_type, made.type);
        response_.keep_alive(request.keep_alive());
        response_.body() = std::move(made.body);
        response_.prepare_payload();
        http::async_write(stream_, response_,
                          [self = shared_from_this()](beast::error_code trouble, std::size_t) {
                              if (!trouble && self->response_.keep_alive()) self->read();
                          });
    }

    beast::tcp_stream stream_;
    const HttpServer::Handler& handler_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
};

}  // namespace

struct HttpServer::Parts {
    explicit Parts(Handler handler_) : handler(std::move(handler_)), acceptor(context) {}

    void accept() {
        acceptor.async_accept(asio::make_strand(context),
                              [this](beast::error_code trouble, tcp::socket socket) {
                                  if (trouble == asio::error::operation_aborted) return;
                                  if (!trouble) std::make_shared<Session>(std::move(socket), handler)->read();
                                  accept();
                              });
    }

    Handler handler;
    asio::io_context context;
    tcp::acceptor acceptor;
    std::vector<std::thread> threads;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
    parts_->context.stop();
    for (std::thread& thread : parts_->threads) thread.join();
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

scenarios::Result<std::unique_ptr<HttpServer>> HttpServer::listen(const std::string& address, int port,
                                                                  Handler handler) {
    auto parts = std::make_unique<Parts>(std::move(handler));
    beast::error_code trouble;
    const auto ip = asio::ip::make_address(address, trouble);
    const tcp::endpoint endpoint(ip, static_cast<unsigned short>(port));
    if (!trouble) parts->acceptor.open(endpoint.protocol(), trouble);
    if (!trouble) parts->acceptor.set_option(asio::socket_base::reuse_address(true), trouble);
    if (!trouble) parts->acceptor.bind(endpoint, trouble);
    if (!trouble) parts->acceptor.listen(asio::socket_base::max_listen_connections, trouble);
    if (trouble) {
        return refuse(ErrorCode::environment,
                      fmt::format("cannot listen on {}:{}: {}", address, port, trouble.message()),
                      "choose another with --port, or 0 for any");
    }
    parts->accept();
    for (int i = 0; i < 2; ++i) {
        parts->threads.emplace_back([context = &parts->context] { context->run(); });
    }
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

scenarios::Result<Address> address_of(const std::string& url) {
    const auto no = [&](const std::string& why, const std::string& remedy) {
        return refuse(ErrorCode::usage, fmt::format("'{}' {}", url, why), remedy);
    };
    if (url.starts_with("https://"))
        return no("asks for TLS, which is not spoken here",
                  "give an http:// address: a port of the server itself, or one that is forwarded to it");
    if (!url.starts_with("http://")) return no("is no address", "write http://HOST:PORT");
    std::string rest = url.substr(7);
    Address there;
    if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
        there.prefix = rest.substr(slash);
        rest.resize(slash);
        while (there.prefix.ends_with('/')) there.prefix.pop_back();
    }
    if (rest.find('@') != std::string::npos)
        return no("holds a password", "forward the port instead: nothing is sent but the questions");
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
        there.port = rest.substr(colon + 1);
        rest.resize(colon);
    }
    const bool digits = !there.port.empty() && there.port.size() < 6 &&
                        there.port.find_first_not_of("0123456789") == std::string::npos;
    if (rest.empty() || !digits) return no("is no address", "write http://HOST:PORT");
    there.host = rest.starts_with('[') ? rest.substr(1, rest.size() - 2) : rest;
    return there;
}

scenarios::Result<HttpResponse> ask(const Address& there, const HttpRequest& request,
                                    const std::map<std::string, std::string>& headers, int timeout_seconds) {
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

scenarios::Result<HttpResponse> ask(int port, const HttpRequest& request,
                                    const std::map<std::string, std::string>& headers, int timeout_seconds) {
    return ask({"127.0.0.1", std::to_string(port), ""}, request, headers, timeout_seconds);
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
        auto answer = ask(port, {"GET", path, ""}, {}, 5);
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
