// runners/commands/know/web_command.cpp — deadrank web: a workbench in the browser, served on this machine
// alone.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <thread>

#include "results/processes/child.h"
#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/serve/http.h"
#include "runners/web/classroom.h"
#include "runners/web/http_answers.h"
#include "runners/web/workbench.h"

namespace deadrank::runners::commands {

namespace {

struct WebArguments {
    std::string catalog, memory = "2G";
    std::string class_of, listen;  // class mode
    std::uint64_t seed = 1;
    int port = 8740;
    std::int64_t time_limit = 120;
    bool open = false;
};

// The browser is not ours: it outlives this program.
void open_in_browser(const std::string& address) {
    const std::string opener = results::processes::find_program("xdg-open");
    if (opener.empty()) return print_error("deadrank: there is no xdg-open: open the address yourself\n");
    auto child = results::processes::Child::start(
        {.argv = {opener, address}, .streams = results::processes::Command::Streams::inherited});
    if (!child) return print_error("deadrank: {}\n", child.error().text());
    child->wait();
}

void serve_until_interrupted() {
    std::atomic<bool>& stop = stop_on_interrupt();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// A server with one address for everybody who may ask it. It ends with this program.
std::unique_ptr<serve::HttpServer> listen(const WebArguments& arguments, Session& session,
                                          serve::HttpServer::Handler handler) {
    auto server =
        serve::HttpServer::listen(arguments.listen.empty() ? "127.0.0.1" : arguments.listen, arguments.port,
                                  std::move(handler), {.body = web::request_most, .threads = 4});
    return session.take(server) ? std::move(*server) : nullptr;
}

std::string address_of(const WebArguments& arguments, const serve::HttpServer& server,
                       const std::string& access) {
    const std::string host = arguments.listen.empty() ? "127.0.0.1" : arguments.listen;
    return fmt::format("http://{}:{}/{}/", host, server.port(), access);
}

void serve_class(const WebArguments& arguments, const Library& library, web::Classroom::Options options,
                 Session& session) {
    const auto ids = web::class_ids(arguments.class_of);
    if (!ids) return session.complain(ids.error());
    std::vector<web::Puzzle> puzzles;
    {
        print_error("deadrank: playing {}\n", results::counted(ids->size(), "scenario"));
        web::JobLimits limits = options.jobs;
        limits.kept = limits.waiting_most = ids->size();
        web::Jobs jobs(limits);
        auto made =
            web::make_puzzles(library, *ids, arguments.seed, options.order, jobs, stop_on_interrupt());
        if (!session.take(made)) return;
        puzzles = std::move(*made);
    }
    options.learners = serve::random_access().substr(0, 10);
    options.teacher = serve::random_access();
    const std::string learners = options.learners, teacher = options.teacher;
    web::Classroom classroom(library, std::move(puzzles), std::move(options));
    const auto server = listen(arguments, session,
                               [&](const serve::HttpRequest& request) { return classroom.answer(request); });
    if (!server) return;
    print_out("{}\n", address_of(arguments, *server, learners));
    print_out("  learners join here, with a name\n");
    print_out("{}\n", address_of(arguments, *server, teacher));
    print_out("  the board, the answers, and a CSV file: for the teacher alone\n");
    print_out("  Ctrl-C ends the class; nothing of it is stored\n");
    flush_out();
    if (arguments.open) open_in_browser(address_of(arguments, *server, teacher));
    serve_until_interrupted();
}

void serve_workbench(const WebArguments& arguments, const Library& library, web::WorkbenchOptions options,
                     Session& session) {
    options.access = serve::random_access();
    const std::string access = options.access;
    auto workbench = web::Workbench::open(library, std::move(options));
    if (!session.take(workbench)) return;
    const auto server = listen(
        arguments, session, [&](const serve::HttpRequest& request) { return (*workbench)->answer(request); });
    if (!server) return;
    const std::string address = address_of(arguments, *server, access);
    print_out("{}\n", address);
    print_out(
        "  the workbench, on this machine alone; who has the address may play scenarios with your rights\n");
    print_out("  Ctrl-C ends it and all runs\n");
    flush_out();
    if (arguments.open) open_in_browser(address);
    serve_until_interrupted();
}

void serve_web(const WebArguments& arguments, Session& session) {
    if (arguments.class_of.empty() && !arguments.listen.empty()) {
        return session.complain(
            {scenarios::ErrorCode::usage, "--listen is for --class alone",
             "the workbench is served on this machine only, since it plays what it is given"});
    }
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto runner = make_runner("sim", session.extension);
    if (!session.take(runner)) return;
    const web::JobLimits limits{.time = std::chrono::seconds(arguments.time_limit)};
    const web::OrderOptions order{
        .program = session.executable, .catalog = arguments.catalog, .memory = arguments.memory};
    if (!arguments.class_of.empty())
        return serve_class(arguments, *library, {.order = order, .jobs = limits}, session);
    serve_workbench(arguments, *library,
                    {.order = order, .jobs = limits, .capabilities = (*runner)->capabilities()}, session);
}

void add_web(CLI::App& command, Session& session) {
    command.footer(
        "One page, on 127.0.0.1. The catalogue to browse; a scenario as text, with its settings; its run as "
        "timeline, evidence and alarms, beside the control and the healed run; sweeps, shrinking and probes. "
        "Every run is a child process like `deadrank run`, bounded in time and memory.\n\n"
        "The address has a random part. Requests without it are refused.\n\n"
        "With --class it is a class: learners join with a name, pay for evidence, guess rank, step and "
        "cause, and try "
        "fixes. A fix that changes something in the job is played. They can play nothing but the listed "
        "scenarios. The "
        "teacher has a board and a CSV file.\n\n"
        "Exit code: 0 stopped by Ctrl-C, 64 the command line is wrong, 2 the port is taken.\n\n"
        "Examples:\n"
        "  deadrank web --open\n"
        "  deadrank web --port 0 --time-limit 600\n"
        "  deadrank web --class lesson1.txt --listen 192.168.1.5     thirty learners on the local network\n"
        "  deadrank web --class communication/rank_leaves_all_reduce,scheduling/one_slow_device");
    auto arguments = std::make_shared<WebArguments>();
    command.add_option("-p,--port", arguments->port, "Port; 0 takes any [8740]")
        ->type_name("N")
        ->check(CLI::Range(0, 65535).description(""));
    command.add_flag("--open", arguments->open, "Open the page in a browser, with xdg-open");
    command.add_option("--time-limit", arguments->time_limit, "Real seconds that one run may take [120]")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 86'400).description(""));
    command
        .add_option("--memory", arguments->memory,
                    "What one run in the simulator may take, as 500M or 8G [2G]")
        ->type_name("SIZE");
    command
        .add_option("--class", arguments->class_of,
                    "A class on these scenarios: ids, or a file with one a line")
        ->type_name("IDS|FILE");
    command.add_option("--seed", arguments->seed, "Of a class: the seed that makes every draw [1]")
        ->type_name("N")
        ->check(whole_number());
    command.add_option("--listen", arguments->listen, "Of a class: the address to listen on [127.0.0.1]")
        ->type_name("IP");
    add_catalog(command, arguments->catalog);
    command.callback([arguments, &session] { serve_web(*arguments, session); });
}

}  // namespace

extern const CommandRow web_row{"web", "Opens a workbench in the browser: scenarios, their runs, what if",
                                add_web};

}  // namespace deadrank::runners::commands
