// runners/commands/judge/serve_command.cpp — deadrank alerts serve: a failure on live /metrics endpoints, for
// a rehearsal with real servers. Serves until the run ends, --for has passed, or Ctrl-C.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <thread>

#include "results/exporters/toml_file.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/serve/live_replay.h"

namespace deadrank::runners::commands {

namespace {

using results::exporters::duration_text;
using scenarios::ErrorCode;

struct ServeArguments {
    runners::commands::SiteOptions site;
    std::string address = "127.0.0.1", speed = "1", lasts;
    int port = 9400;
    bool quiet = false;
};

// Static, because the signal handler needs it.
std::atomic<bool>& serve_stop_flag() {
    static std::atomic<bool> asked{false};
    return asked;
}

void stop_on_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, [](int) { serve_stop_flag() = true; });
}

void serve_until_done(serve::Replay& replay, double duration, double real_seconds) {
    const auto began = std::chrono::steady_clock::now();
    while (!serve_stop_flag()) {
        const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        if (real_seconds >= 0 ? passed >= real_seconds : replay.now() >= duration) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

void serve_command(const ServeArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.site.catalog);
    if (!session.take(library)) return;
    auto site = runners::commands::open_site(*library, arguments.site);
    if (!session.take(site)) return;
    double speed = 0;
    try {
        speed = std::stod(arguments.speed);
    } catch (const std::exception&) {
    }
    const double lasts = arguments.lasts.empty() ? -1 : results::exporters::seconds_of(arguments.lasts);
    if (!(speed > 0) || speed > 1e6) {
        return session.complain(
            {ErrorCode::usage, "--speed '" + arguments.speed + "' will not do", "write a factor such as 60"});
    }
    std::vector<std::string> notes;
    std::vector<results::exporters::Incident> incidents = {results::exporters::healthy_run()};
    if (!arguments.site.scenarios.empty() && arguments.site.scenarios[0] != "healthy") {
        auto chosen = runners::commands::choose_incidents(**site, *library, arguments.site, notes);
        if (!session.take(chosen)) return;
        incidents = std::move(*chosen);
    }
    if (incidents.size() != 1) {
        return session.complain({ErrorCode::usage,
                                 fmt::format("{} failures cannot be served at once", incidents.size()),
                                 "name one with --scenarios"});
    }
    serve::Replay replay((*site)->world, incidents[0], speed);
    if (!arguments.quiet) {
        replay.on_notice([](const serve::Notice& notice) {
            print_out("{:>10}  {:<9} {} → {}\n", duration_text(notice.at), notice.status, notice.alert,
                      notice.receiver);
            flush_out();
        });
    }
    std::atomic<int> port{0};
    auto server = serve::HttpServer::listen(
        arguments.address, arguments.port,
        [&](const serve::HttpRequest& request) { return replay.answer(request, port); });
    if (!session.take(server)) return;
    port = (*server)->port();
    const auto& window = (*site)->world.window;
    print_out("http://{}:{}/metrics shows {}: the failure at {}, {}x real time\n", arguments.address,
              port.load(), incidents[0].title, duration_text(window.fault_at), arguments.speed);
    print_out("  /prometheus.yml configures a Prometheus for it; send Alertmanager's webhooks to /hook\n");
    if (speed != 1)
        print_out(
            "  rules cannot be sped up: `for: 5m` waits five real minutes, here {}; deadrank alerts judges "
            "them in virtual time\n",
            duration_text(300 * speed));
    flush_out();
    stop_on_signals();
    serve_until_done(replay, window.duration, lasts);
}

void add_serve(CLI::App& command, Session& session) {
    command.footer(
        "One failure of `deadrank alerts --list`, on loopback, in real or accelerated time.\n\n"
        "Exit code: 0 the run is over or was stopped, 64 the command line is wrong or the port is taken.\n\n"
        "Examples:\n"
        "  deadrank alerts serve --scenarios thermal_throttle\n"
        "  deadrank alerts serve --scenarios thermal_throttle --speed 60 --port 0 --for 2m\n"
        "  curl http://127.0.0.1:9400/prometheus.yml");
    auto arguments = std::make_shared<ServeArguments>();
    runners::commands::add_site(command, arguments->site);
    command.get_option("--profile")
        ->description(
            "What dcgm-exporter shows: dcgm-default, dcgm-full, dcgm-kubernetes, dcgm-1x, or your "
            "counters.csv; kubernetes labels all targets as a Prometheus Operator does, and is never chosen "
            "by itself, as serve reads no rules [dcgm-default]");
    command.add_option("-p,--port", arguments->port, "Port; 0 takes any [9400]")
        ->type_name("N")
        ->check(CLI::Range(0, 65535).description(""));
    command.add_option("--address", arguments->address, "Address to listen on [127.0.0.1]")->type_name("IP");
    command.add_option("--speed", arguments->speed, "Virtual seconds in each real one [1]")
        ->type_name("FACTOR");
    command.add_option("--for", arguments->lasts, "Stop after this much real time [when the run is over]")
        ->type_name("TIME");
    command.add_flag("-q,--quiet", arguments->quiet, "Print no notices");
    command.callback([arguments, &session] { serve_command(*arguments, session); });
}

}  // namespace

extern const CommandRow serve_row{
    "serve", "Shows a failure on live /metrics, for a rehearsal with your own Prometheus", add_serve};

}  // namespace deadrank::runners::commands
