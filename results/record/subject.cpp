// results/record/subject.cpp — Lines of name=value, written and read back.
#include "results/record/subject.h"

#include <cstdlib>
#include <fmt/format.h>

namespace deadrank::results {

std::string subject_lines(const Subject& subject) {
    return fmt::format("subject={}\nframework={}\nversion={}\ntimeout={}\ndebug={}", subject.name,
                       subject.framework, subject.version, subject.timeout.count(), subject.debug);
}

Subject subject_of(const Evidence& evidence) {
    const auto starts = evidence.each<JobStart>();
    const std::string_view what = starts.empty() ? "" : evidence.text(starts.front()->as<JobStart>()->what);
    const std::string lines = "\n" + std::string(what) + "\n";
    const auto value = [&](const std::string& name) -> std::string {
        const std::size_t at = lines.find("\n" + name + "=");
        if (at == std::string::npos) return {};
        const std::size_t begin = at + name.size() + 2;
        return lines.substr(begin, lines.find('\n', begin) - begin);
    };
    return {value("subject"), value("framework"), value("version"),
            Time{std::atoll(value("timeout").c_str())}, value("debug")};
}

}  // namespace deadrank::results
