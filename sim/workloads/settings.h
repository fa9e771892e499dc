// sim/workloads/settings.h — The resolved settings of a workload, read by name. A name nobody declared is our
// own mistake.
#pragma once

#include <string>
#include <string_view>

#include "results/record/time.h"
#include "scenarios/model/error.h"
#include "scenarios/model/value.h"

namespace deadrank::sim {

class Settings {
public:
    explicit Settings(const scenarios::Values& values) : values_(values) {}

    std::int64_t integer(std::string_view name) const { return at(name).number; }
    bool flag(std::string_view name) const { return at(name).number != 0; }
    results::Time duration(std::string_view name) const { return results::Time(at(name).number); }
    // Of an optional parameter: what it is, or 0 where nobody stated it.
    std::int64_t stated(std::string_view name) const {
        const auto found = values_.find(std::string(name));
        return found == values_.end() ? 0 : found->second.number;
    }
    const std::string& text(std::string_view name) const { return at(name).text; }

private:
    const scenarios::Value& at(std::string_view name) const {
        const auto found = values_.find(std::string(name));
        CHECK(found != values_.end());
        return found->second;
    }
    const scenarios::Values& values_;
};

}  // namespace deadrank::sim
