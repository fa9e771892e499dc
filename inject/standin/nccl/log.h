// inject/standin/nccl/log.h — Lines in NCCL's own form, where NCCL_DEBUG and NCCL_DEBUG_FILE want them. A
// line is one system call, so a killed rank loses none.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace deadrank::standin {

void write_warning(std::string_view text);  // at NCCL_DEBUG=WARN and above; also what ncclGetLastError tells
void write_info(std::string_view text);     // at INFO and above
const char* last_warning();

template <class... Arguments>
void warn(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    write_warning(fmt::format(text, std::forward<Arguments>(arguments)...));
}
template <class... Arguments>
void inform(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    write_info(fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace deadrank::standin
