// runners/backends/sim/patched_packages.cpp — All ranks are forks of one interpreter, which has imported the
// packages: so a patch of a package is on all of them, from the start.
#include "runners/backends/sim/patched_packages.h"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runners/backends/process/mpirun.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

using Texts = std::map<std::string, std::string>;

std::string read_text(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The interpreter is handed texts as JSON.
bool is_utf8(const std::string& text) {
    try {
        return !nlohmann::json(text).dump().empty();
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

// Changes what the parts of this patch change outside of the program.
scenarios::Result<void> add_patch(const std::filesystem::path& python, std::string_view patch, bool on_all,
                                  Texts& texts) {
    const auto parts = scenarios::split_patch(patch);
    if (!parts) return refuse(ErrorCode::bad_input, parts.error().what, parts.error().remedy);
    for (const scenarios::FilePatch& part : *parts) {
        if (part.file.empty()) continue;
        if (!on_all)
            return refuse(
                ErrorCode::unsupported,
                fmt::format("the patch of {} would be on some ranks only, or come later", part.file),
                "leave out rank and when: ranks share their installed packages");
        const std::filesystem::path file = package_file(python, part.file);
        if (file.empty())
            return refuse(
                ErrorCode::unsupported,
                fmt::format("the patch changes {}, and {} does not have it", part.file, python.string()),
                fmt::format("`pip install {}` there, in the release that the patch was made for",
                            part.file.substr(0, part.file.find('/'))));
        const auto [text, fresh] = texts.try_emplace(file.string());
        if (fresh) text->second = read_text(file);
        if (!is_utf8(text->second))
            return refuse(ErrorCode::unsupported, fmt::format("{} is not UTF-8", file.string()),
                          "patch another file: only texts in UTF-8 can be changed");
        auto changed = scenarios::apply_patch(text->second, part.text, file.string());
        if (!changed)
            return refuse(ErrorCode::unsupported, changed.error().what,
                          "install the release that the patch was made for, or make the patch for this one");
        text->second = std::move(*changed);
    }
    return {};
}

}  // namespace

scenarios::Result<Texts> patched_packages(const std::filesystem::path& python, const scenarios::Plan& plan) {
    Texts texts;
    if (const auto fix = plan.workload.find("fix"); fix != plan.workload.end() && !fix->second.text.empty())
        if (auto added = add_patch(python, fix->second.text, true, texts); !added)
            return tl::unexpected(added.error());
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (fault.kind != scenarios::patch_fault) continue;
        const bool on_all = fault.ranks().empty() && fault.when.at_start;
        if (auto added = add_patch(python, fault.text("patch"), on_all, texts); !added)
            return tl::unexpected(added.error());
    }
    // What a fix changed and the bug took back is as it was.
    std::erase_if(texts, [](const auto& one) { return read_text(one.first) == one.second; });
    return texts;
}

}  // namespace deadrank::runners
