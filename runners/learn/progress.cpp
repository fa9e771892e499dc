// runners/learn/progress.cpp — Written after each lesson, beside and renamed, so that Ctrl-C costs nothing.
#include "runners/learn/progress.h"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/text/text_file.h"

namespace deadrank::runners::learn {

using nlohmann::ordered_json;
using scenarios::Result;

namespace {

constexpr int format = 1;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

std::filesystem::path Progress::usual_file() {
    if (const std::string stated = variable("DEADRANK_STATE"); !stated.empty())
        return std::filesystem::path(stated) / "learn.json";
    if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
        return std::filesystem::path(state) / "deadrank/learn.json";
    const std::string home = variable("HOME");
    return home.empty() ? std::filesystem::path()
                        : std::filesystem::path(home) / ".local/state/deadrank/learn.json";
}

Result<Progress> Progress::read(std::filesystem::path file) {
    Progress progress;
    progress.file_ = std::move(file);
    std::error_code ignored;
    if (progress.file_.empty() || !std::filesystem::exists(progress.file_, ignored)) return progress;
    const auto text = results::reports::read_text(progress.file_);
    if (!text) return tl::unexpected(text.error());
    try {
        const auto json = ordered_json::parse(*text);
        if (json.at("format").get<int>() != format) throw std::runtime_error("another format");
        for (const auto& [scenario, done] : json.at("lessons").items()) {
            progress.lessons_[scenario] = {done.at("solved").get<bool>(), done.at("tries").get<int>(),
                                           done.at("hints").get<int>()};
        }
    } catch (const std::exception& trouble) {
        return scenarios::refuse(
            scenarios::ErrorCode::bad_input,
            fmt::format("is no progress of lessons that this version reads ({})", trouble.what()),
            "move it away, or begin anew with deadrank learn --forget", {progress.file_.string()});
    }
    return progress;
}

const Done* Progress::find(const std::string& scenario) const {
    const auto found = lessons_.find(scenario);
    return found == lessons_.end() ? nullptr : &found->second;
}

Result<void> Progress::note(const std::string& scenario, const Done& done) {
    Done& kept = lessons_[scenario];
    const bool better = done.solved && (!kept.solved || done.hints < kept.hints);
    if (better || !kept.solved) kept = done;
    return write();
}

Result<void> Progress::forget() {
    lessons_.clear();
    return write();
}

Result<void> Progress::write() const {
    if (file_.empty()) return {};
    ordered_json lessons = ordered_json::object();
    for (const auto& [scenario, done] : lessons_)
        lessons[scenario] = {{"solved", done.solved}, {"tries", done.tries}, {"hints", done.hints}};
    const ordered_json json = {{"format", format}, {"lessons", lessons}};
    return results::reports::write_text(json.dump(1) + "\n", file_);
}

}  // namespace deadrank::runners::learn
