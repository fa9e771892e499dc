// runners/backends/sim/accelerate_launch.cpp — The words behind `accelerate launch`, from deadrank/accelerate_words.py.
#include "runners/backends/sim/accelerate_launch.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "results/processes/bounded.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

scenarios::Result<StartedWords> words_behind_accelerate(const std::vector<std::string>& words,
                                                        const ManagedSettings& settings, int gpus) {
    const bool is_accelerate = words.size() > 1 && words[1] == "launch" &&
                               std::filesystem::path(words[0]).filename() == "accelerate";
    if (!is_accelerate) return StartedWords{words, {}};
    std::vector<std::string> argv{settings.python.string(),
                                  (settings.package / "deadrank" / "accelerate_words.py").string(),
                                  fmt::format("{}", gpus)};
    argv.insert(argv.end(), words.begin() + 2, words.end());
    const auto answer = results::processes::run_bounded(argv, {.time = std::chrono::minutes(2)}, {}, {});
    if (!answer) return tl::unexpected(answer.error());
    const auto said = nlohmann::json::parse(answer->well() ? answer->out : "", nullptr, false);
    if (said.is_discarded())
        return refuse(answer->code == 3 ? ErrorCode::environment : ErrorCode::usage,
                      fmt::format("accelerate launch {}: {}", answer->how(), answer->last_error_text()),
                      answer->code == 3 ? "install accelerate for this Python, or start the program with torchrun"
                                        : "write its options as accelerate takes them");
    return StartedWords{said["words"].get<std::vector<std::string>>(),
                        said["environment"].get<std::map<std::string, std::string>>()};
}

}  // namespace deadrank::runners
