// runners/backends/ranks/meeting_place.h — A directory that all ranks of the job see: who has come, keys and
// counters. What a file holds is there whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace deadrank::runners {

class MeetingPlace {
public:
    explicit MeetingPlace(std::filesystem::path directory);

    MeetingPlace within(std::string_view name) const;
    bool claim(std::string_view name, std::string_view text) const;  // false: somebody else was first
    void set(std::string_view name, std::string_view text) const;
    std::optional<std::string> get(std::string_view name) const;
    std::int64_t add(std::string_view name, std::int64_t amount) const;  // the sum after it

private:
    std::filesystem::path file(std::string_view name) const;
    std::filesystem::path directory_;
};

}  // namespace deadrank::runners
