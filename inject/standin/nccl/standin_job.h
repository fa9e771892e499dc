// inject/standin/nccl/standin_job.h — The job that a process of the drop-in belongs to, and NCCL's log.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <nccl.h>
#include <optional>
#include <string>
#include <string_view>

namespace deadrank::inject::standin {

// Lines in NCCL's own form, where NCCL_DEBUG and NCCL_DEBUG_FILE want them. A line is one system call, so a
// killed rank loses none.

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

// Where the ranks of one unique id meet: a coordinator that the first of them starts, at an address that the
// id carries.

// Empty when the coordinator could not be started; a warning said why.
std::optional<ncclUniqueId> begin_job();
// Empty when the id is not one of ours.
std::string address_of(const ncclUniqueId& id);

// Ranks with the same one share memory: by NCCL_HOSTID, else by host name.
std::uint64_t host_of_this_process();

}  // namespace deadrank::inject::standin
