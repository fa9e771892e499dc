// results/judging/left_comparison.cpp — Files one by one; tensors by name.
#include "results/judging/left_comparison.h"

#include <fmt/format.h>

#include "results/record/words.h"

namespace deadrank::results {

namespace {

std::string shown_path(const std::string& path, const std::filesystem::path& directory) {
    const std::string outer = directory.string() + "/";
    return path.starts_with(outer) ? path.substr(outer.size()) : path;
}

// "fc.weight (1 of 4 tensors)"; empty: none differs.
std::string list_other_tensors(const LeftFile& seen, const LeftFile& healthy) {
    std::string first;
    std::size_t count = 0;
    for (const auto& [name, digest] : healthy.tensors) {
        const auto own = seen.tensors.find(name);
        if (own != seen.tensors.end() && own->second == digest) continue;
        if (count++ == 0) first = (name.empty() ? "its tensor" : name) + (own == seen.tensors.end() ? " is missing" : "");
    }
    if (count == 0) return "";
    return fmt::format("{} ({} of {})", first, count, counted(healthy.tensors.size(), "tensor"));
}

LeftComparison compare_file(const std::string& name, const LeftFile& seen, const LeftFile& healthy) {
    const LeftDifference lost =
        healthy.has_tensors ? LeftDifference::lost_checkpoint : LeftDifference::other_result;
    if (!seen.there) return {lost, fmt::format("it completed without {}, which the healthy run leaves", name)};
    if (healthy.bytes > 0 && seen.bytes == 0)
        return {lost, fmt::format("it leaves {} empty, which the healthy run does not", name)};
    if (!healthy.has_tensors) return {};
    if (!seen.has_tensors)
        return {lost, fmt::format("it leaves {}, which cannot be read: {}", name,
                                  seen.trouble.empty() ? "it holds no tensors" : seen.trouble)};
    const std::string tensors = list_other_tensors(seen, healthy);
    if (tensors.empty()) return {};
    return {LeftDifference::other_result,
            fmt::format("it leaves {} with other values than the healthy run: {}", name, tensors)};
}

}  // namespace

LeftComparison compare_left_files(const LeftFiles& seen, const LeftFiles& healthy,
                                  const std::filesystem::path& directory) {
    LeftComparison worst;
    std::size_t differ = 0;
    for (const auto& [path, file] : healthy) {
        const auto own = seen.find(path);
        if (own == seen.end()) continue;  // nobody looked
        LeftComparison one = compare_file(shown_path(path, directory), own->second, file);
        differ += one.what != LeftDifference::none;
        if (one.what > worst.what) worst = std::move(one);
    }
    if (differ > 1) worst.says += fmt::format("; and {}", counted(differ - 1, "more file"));
    return worst;
}

}  // namespace deadrank::results
