// results/external/amtool.cpp — `amtool config routes test`: one process for each new set of labels.
#include "results/external/amtool.h"

#include <sstream>

#include "results/processes/bounded.h"

namespace deadrank::results::external {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

Result<Amtool> Amtool::open(const std::string& name, const std::string& config) {
    Amtool tool;
    tool.path_ = processes::find_program(name);
    tool.config_ = config;
    if (tool.path_.empty()) {
        return refuse(ErrorCode::environment, "there is no '" + name + "' on this machine",
                      "install Alertmanager (Debian: apt install prometheus-alertmanager)");
    }
    auto answer = processes::run_bounded({tool.path_, "check-config", config}, processes::Bounds::none());
    if (!answer) return tl::unexpected(answer.error());
    if (answer->code != 0) {
        std::string words = answer->err + answer->out;
        while (!words.empty() && words.back() == '\n') words.pop_back();
        return refuse(ErrorCode::bad_input, "amtool refuses the Alertmanager configuration: " + words, "",
                      {config, 0, 0});
    }
    return tool;
}

Result<std::vector<std::string>> Amtool::receivers(const std::map<std::string, std::string>& labels) {
    std::vector<std::string> argv = {path_, "config", "routes", "test", "--config.file=" + config_};
    std::string key;
    for (const auto& [label, value] : labels) {
        if (label == "__name__" || label == "alertstate") continue;
        argv.push_back(label + "=" + value);
        key += argv.back() + "\n";
    }
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    auto answer = processes::run_bounded(argv, processes::Bounds::none());
    if (!answer) return tl::unexpected(answer.error());
    if (answer->code != 0) return refuse(ErrorCode::bad_input, "amtool cannot route: " + answer->err);
    std::vector<std::string> names;
    std::istringstream lines(answer->out);
    for (std::string line; std::getline(lines, line);) {
        // Several receivers come on one line, separated by commas.
        std::istringstream parts(line);
        for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
    }
    known_[key] = names;
    return names;
}

}  // namespace deadrank::results::external
