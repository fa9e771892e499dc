// runners/commands/find/mcp_command.cpp — deadrank mcp: becomes the MCP server of the Python package deadrank, which
// starts this program for each call.
#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "results/processes/child.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/commands/command.h"

namespace deadrank::runners::commands {

namespace {

using scenarios::ErrorCode;

struct McpArguments {
    std::string root = ".";
    std::int64_t seconds = 300, bytes = 100'000;
};

// Modules are found in the package first, and never in the directory of the user's programs.
constexpr const char* start_server =
    "import sys; sys.path = [sys.argv.pop(1)] + [p for p in sys.path if p]; "
    "from deadrank.mcp_server import main; main()";

void serve_tools(const McpArguments& arguments, Session& session) {
    std::error_code trouble;
    const std::filesystem::path root = std::filesystem::canonical(arguments.root, trouble);
    if (trouble || !std::filesystem::is_directory(root, trouble))
        return session.complain({ErrorCode::usage, fmt::format("'{}' is no directory", arguments.root),
                                 "name the one that has the programs and logs"});
    const auto package = python_package();
    if (!package) return session.complain(package.error());
    auto python = python_with("mcp");
    if (!session.take(python)) return;
    const std::vector<std::string> words = {python->string(),
                                            "-c",
                                            start_server,
                                            package->string(),
                                            "--program",
                                            session.executable.string(),
                                            "--root",
                                            root.string(),
                                            "--seconds",
                                            std::to_string(arguments.seconds),
                                            "--bytes",
                                            std::to_string(arguments.bytes)};
    const int why = results::processes::replace_process(words);
    session.complain({ErrorCode::environment,
                      fmt::format("{} cannot be started: {}", python->string(), std::strerror(why)),
                      "set DEADRANK_PYTHON to a Python that has the package mcp"});
}

void add_mcp(CLI::App& command, Session& session) {
    command.footer(
        "Speaks MCP over standard input and output. Tools: run, inject, replay, evidence, diagnose, list, explain. None "
        "takes a command line. Programs and logs are read below ROOT alone, but a program that inject plays may do "
        "what you may do.\n\n"
        "It needs the Python package mcp (pip install mcp) in the environment of deadrank, in DEADRANK_PYTHON or in "
        "the python3 of PATH.\n\n"
        "Examples:\n"
        "  deadrank mcp ~/training\n"
        "  claude mcp add deadrank -- deadrank mcp ~/training\n"
        "  {\"mcpServers\": {\"deadrank\": {\"command\": \"deadrank\", \"args\": [\"mcp\", \"/home/me/training\"]}}}");
    auto arguments = std::make_shared<McpArguments>();
    command.add_option("root", arguments->root, "The directory of programs and logs [the current one]")
        ->type_name("ROOT");
    command.add_option("--seconds", arguments->seconds, "What one call may take [300]")
        ->type_name("N")
        ->check(CLI::Range(1, 86400).description(""));
    command.add_option("--bytes", arguments->bytes, "JSON that one call may return [100000]")
        ->type_name("N")
        ->check(CLI::Range(1000, 100'000'000).description(""));
    command.callback([arguments, &session] { serve_tools(*arguments, session); });
}

}  // namespace

extern const CommandRow mcp_row{"mcp", "Serves run, inject, diagnose and more as tools to AI agents", add_mcp};

}  // namespace deadrank::runners::commands
