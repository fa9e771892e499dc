// runners/backends/proxy/store_proxy.cpp — The proxy has its own thread, which ends with the run and leaves
// nothing to undo.
#include "runners/backends/proxy/store_proxy.h"

#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <future>
#include <istream>
#include <nlohmann/json.hpp>

namespace deadrank::runners {

namespace asio = boost::asio;
using asio::ip::tcp;
using nlohmann::json;
using Failed = boost::system::error_code;

namespace {

constexpr std::size_t longest_word = 4096;

std::string apply_command(const std::map<results::Rank, std::unique_ptr<Route>>& routes,
                          const std::string& words) {
    const json said = json::parse(words, nullptr, false);
    if (!said.is_object() || !said.contains("rank") || !said["rank"].is_number_integer())
        return "no JSON object with a rank";
    const auto route = routes.find(said["rank"].get<results::Rank>());
    if (route == routes.end()) return fmt::format("rank {} has no door here", said["rank"].dump());
    if (const auto target = said.find("target"); target != said.end()) {
        if (!target->is_array() || target->size() != 2 || !(*target)[0].is_string() ||
            !(*target)[1].is_number_integer())
            return "a target is a host and a port";
        route->second->leads_to((*target)[0].get<std::string>(), (*target)[1].get<int>());
        return "ok";
    }
    const auto text = [&](const char* name) {
        return said.contains(name) && said[name].is_string() ? said[name].get<std::string>() : "";
    };
    const auto number = [&](const char* name) {
        return said.contains(name) && said[name].is_number_integer() ? said[name].get<std::int64_t>() : 0;
    };
    const auto how = trouble_named(text("how"));
    if (!how) return fmt::format("a connection knows no trouble '{}'", text("how"));
    route->second->change({*how, std::chrono::nanoseconds(number("late")), number("amount")});
    return "ok";
}

}  // namespace

struct StoreProxy::Caller {
    explicit Caller(tcp::socket accepted) : socket(std::move(accepted)), words(longest_word) {}
    tcp::socket socket;
    asio::streambuf words;
    std::string answer;
};

StoreProxy::StoreProxy() : words_(context_) {}

scenarios::Result<std::unique_ptr<StoreProxy>> StoreProxy::start(const std::set<results::Rank>& ranks) {
    std::unique_ptr<StoreProxy> proxy(new StoreProxy);
    Failed failed;
    proxy->words_.open(tcp::v4(), failed);
    proxy->words_.bind({asio::ip::address_v4::loopback(), 0}, failed);
    if (!failed) proxy->words_.listen(tcp::acceptor::max_listen_connections, failed);
    for (const results::Rank rank : ranks) {
        auto& route = proxy->routes_[rank] = std::make_unique<Route>(proxy->context_);
        if (route->port() == 0 && !failed) failed = asio::error::no_buffer_space;
    }
    if (failed) {
        return scenarios::refuse(
            scenarios::ErrorCode::io,
            fmt::format("no port for the proxy before the store could be opened: {}", failed.message()),
            "free ports of the loopback, or run it again");
    }
    proxy->accept();
    proxy->thread_ = std::thread([context = &proxy->context_] { context->run(); });
    return proxy;
}

StoreProxy::~StoreProxy() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
}

int StoreProxy::proxy_port_of(results::Rank rank) const {
    const auto route = routes_.find(rank);
    return route == routes_.end() ? 0 : route->second->port();
}

std::string StoreProxy::ports_json() const {
    json doors = json::object();
    for (const auto& [rank, route] : routes_) doors[std::to_string(rank)] = route->port();
    Failed ignored;
    return json{{"words", words_.local_endpoint(ignored).port()}, {"doors", doors}}.dump();
}

std::string StoreProxy::handle_command(const std::string& words) {
    std::promise<std::string> answer;
    asio::post(context_, [&] { answer.set_value(apply_command(routes_, words)); });
    return answer.get_future().get();
}

void StoreProxy::accept() {
    words_.async_accept(context_, [this](Failed failed, tcp::socket socket) {
        if (failed == asio::error::operation_aborted) return;
        if (!failed) read(std::make_shared<Caller>(std::move(socket)));
        accept();
    });
}

void StoreProxy::read(const std::shared_ptr<Caller>& caller) {
    asio::async_read_until(caller->socket, caller->words, '\n', [this, caller](Failed failed, std::size_t) {
        if (failed) return;
        std::istream in(&caller->words);
        std::string line;
        std::getline(in, line);
        caller->answer = apply_command(routes_, line) + "\n";
        asio::async_write(caller->socket, asio::buffer(caller->answer), [caller](Failed, std::size_t) {});
    });
}

}  // namespace deadrank::runners
