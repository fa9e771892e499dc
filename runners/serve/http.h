// runners/serve/http.h — HTTP on loopback: our server, and requests to other people's.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "results/processes/child.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::serve {

// ── A small HTTP server and client on loopback, for exporters, webhooks and Prometheus' own API.

struct HttpRequest {
    std::string method, target, body;
};

struct HttpResponse {
    int status = 200;
    std::string body;
    std::string type = "text/plain; charset=utf-8";
    std::string location = {};                        // of a redirect
    std::map<std::string, std::string> headers = {};  // further ones that a server sends
};

// Bounds of a server. A request with a longer body is answered with 413.
struct HttpLimits {
    std::size_t body = 256u << 20;  // bytes
    int threads = 2;                // requests that are answered at once
    std::chrono::milliseconds idle{30'000};  // of silence, after which a connection is closed
};

// Answers with its own threads until destroyed. The handler may be called from several threads at once.
// A request's Host must name this server, so that a page of a stranger in a browser cannot fetch it under a
// name of the stranger's (421 otherwise). On loopback these are localhost, 127.0.0.1 and [::1] with the port;
// on another address any IP address and this machine's name with the port, too. A silent connection is
// closed, at most a quarter of the process's descriptors are connections, and no child inherits any.
class HttpServer {
public:
    using Handler = std::function<HttpResponse(const HttpRequest&)>;
    // port 0 = any free one. Errors: environment, when the port is taken.
    static scenarios::Result<std::unique_ptr<HttpServer>> listen(const std::string& address, int port,
                                                                 Handler handler,
                                                                 const HttpLimits& limits = {});
    ~HttpServer();
    int port() const;

private:
    struct Parts;
    explicit HttpServer(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

// A server somewhere: http://HOST:PORT/PREFIX.
struct Address {
    std::string host, port = "80", prefix;
};
// Errors: usage, for any other text.
scenarios::Result<Address> address_of(const std::string& url);

// 32 random hexadecimal digits. Who has an address with them may use it.
std::string random_access();

// Sends one request there. Errors: io, one sentence that names the host; also on time-out.
scenarios::Result<HttpResponse> fetch(const Address& there, const HttpRequest& request,
                                      const std::map<std::string, std::string>& headers, int timeout_seconds);

// Sends one request to 127.0.0.1. Errors: io.
scenarios::Result<HttpResponse> fetch(int port, const HttpRequest& request,
                                      const std::map<std::string, std::string>& headers = {},
                                      int timeout_seconds = 60);

// Percent-encodes characters that a form value may not contain.
std::string form_value(std::string_view text);

// Polls GET `path` of a server that was just started until it answers 200. Errors: environment, with the end
// of its log.
scenarios::Result<void> await_server(results::processes::Child& server, const std::filesystem::path& log,
                                     int port, const std::string& path, int seconds);

// A port that is free at this moment.
int free_port();

}  // namespace deadrank::runners::serve
