// runners/backends/sim/patched_packages.cpp — All ranks are forks of one interpreter, which has imported the packages:
// so a patch of a package is on all of them, from the start.
#include "runners/backends/sim/patched_packages.h"

#include <fmt/format.h>
#include <fstream>
#include <iterator>

#include "runners/backends/process/mpirun.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

scenarios::Result<std::map<std::string, std::string>> patched_packages(const std::filesystem::path& python,
                                                                       const scenarios::Plan& plan) {
    std::map<std::string, std::string> texts;
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (fault.kind != scenarios::patch_fault) continue;
        const std::string patch = fault.text("patch");
        const auto parts = scenarios::split_patch(patch);
        if (!parts) return refuse(ErrorCode::bad_input, parts.error().what, parts.error().remedy);
        for (const scenarios::FilePatch& part : *parts) {
            if (part.file.empty()) continue;
            if (!fault.ranks().empty() || !fault.when.at_start)
                return refuse(ErrorCode::unsupported,
                              fmt::format("the patch of {} would be on some ranks only, or come later", part.file),
                              "leave out rank and when: ranks share their installed packages");
            const std::filesystem::path file = package_file(python, part.file);
            if (file.empty())
                return refuse(ErrorCode::unsupported,
                              fmt::format("the patch changes {}, and {} does not have it", part.file, python.string()),
                              fmt::format("`pip install {}` there, in the release that the patch was made for",
                                          part.file.substr(0, part.file.find('/'))));
            std::string& text = texts[file.string()];
            if (text.empty()) {
                std::ifstream in(file);
                text.assign(std::istreambuf_iterator<char>(in), {});
            }
            auto changed = scenarios::apply_patch(text, part.text);
            if (!changed)
                return refuse(ErrorCode::unsupported, fmt::format("{} of {}", changed.error().what, file.string()),
                              "install the release that the patch was made for, or make the patch for this one");
            text = std::move(*changed);
        }
    }
    return texts;
}

}  // namespace deadrank::runners
