// results/emitters/torchrun.cpp — The agent's log has a time on each of its own lines; an error file is there
// only where a rank ended with an exception under @record.
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "results/emitters/c10d_names.h"
#include "results/emitters/logs.h"
#include "results/emitters/processes.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view traceback = "Traceback (most recent call last):\n";

// "Traceback …\nRuntimeError: words\nmore" → "RuntimeError: words"
std::string exception_in(std::string_view text) {
    text.remove_prefix(traceback.size());
    std::size_t at = 0;
    while (at < text.size() && text[at] == ' ') at = text.find('\n', at) + 1;
    return std::string(text.substr(at, text.find('\n', at) - at));
}

std::string error_file(std::string_view text, Time at) {
    return Json{{"message",
                 {{"message", exception_in(text)},
                  {"extraInfo",
                   {{"py_callstack", std::string(text)},
                    {"timestamp", std::to_string(wall_clock(at) / 1'000'000'000)}}}}}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::vector<EmittedFile> torchrun_files(const Evidence& evidence, const Snapshot& snapshot) {
    std::string agent;
    std::map<std::string, std::string> errors;
    int attempt = 0;
    for (const Event& event : evidence.events()) {
        if (event.at > snapshot.at) break;
        if (const auto* restart = event.as<Restart>()) attempt = restart->attempt;
        const auto* log = event.as<RankLog>();
        if (!log) continue;
        const std::string_view line = evidence.text(log->line);
        if (event.rank == no_rank) {
            const char level = "IWE"[std::min(log->level, 2)];
            agent += fmt::format("{}{} 1 torch/distributed/elastic/multiprocessing/api.py:1002] {}\n", level,
                                 glog_stamp(event.at), line);
        } else if (log->level == 2 && line.starts_with(traceback)) {
            errors[fmt::format("torchrun/attempt_{}/{}/error.json", attempt, event.rank)] =
                error_file(line, event.at);
        }
    }
    std::vector<EmittedFile> files = {{"torchrun/agent.log", std::move(agent)}};
    for (auto& [name, bytes] : errors) files.push_back({name, std::move(bytes)});
    return files;
}

}  // namespace deadrank::results::emitters
