// runners/serve/http.h — A small HTTP server and client on loopback, for exporters, webhooks and Prometheus'
// own API.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::runners::serve {

struct HttpRequest {
    std::string method, target, body;
};

struct HttpResponse {
    int status = 200;
    std::string body;
    std::string type = "text/plain; charset=utf-8";
};

// Answers on 127.0.0.1 with threads of its own until it is destroyed. The handler may be called from several
// at once.
class HttpServer {
public:
    using Handler = std::function<HttpResponse(const HttpRequest&)>;
    // port 0 = any free one. Errors: environment, when the port is taken.
    static scenarios::Result<std::unique_ptr<HttpServer>> listen(const std::string& address, int port,
                                                                 Handler handler);
    ~HttpServer();
    int port() const;

private:
    struct Parts;
    explicit HttpServer(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

// One request to 127.0.0.1. Errors: io.
scenarios::Result<HttpResponse> ask(int port, const HttpRequest& request,
                                    const std::map<std::string, std::string>& headers = {},
                                    int timeout_seconds = 60);

// Percent-encodes what may not stand in a form value.
std::string form_value(std::string_view text);

}  // namespace deadrank::runners::serve
