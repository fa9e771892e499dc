// runners/backends/proxy/disturbance.cpp — The words.
#include "runners/backends/proxy/disturbance.h"

#include <array>
#include <utility>

namespace deadrank::runners {

std::optional<Trouble> trouble_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Trouble>, 7> names = {{{"", Trouble::none},
                                                                            {"mute", Trouble::mute},
                                                                            {"refuse", Trouble::refuse},
                                                                            {"cut", Trouble::cut},
                                                                            {"late", Trouble::late},
                                                                            {"narrow", Trouble::narrow},
                                                                            {"flip", Trouble::flip}}};
    for (const auto& [known, trouble] : names) {
        if (known == name) return trouble;
    }
    return std::nullopt;
}

}  // namespace deadrank::runners
