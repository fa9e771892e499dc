// runners/preflight/interfaces.cpp — getifaddrs has one entry an address; here an interface stands once.
#include "runners/preflight/interfaces.h"

#include <algorithm>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <sys/socket.h>

namespace deadrank::runners {

std::vector<results::preflight::Interface> interfaces_here() {
    std::vector<results::preflight::Interface> all;
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return all;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(first, freeifaddrs);
    for (const ifaddrs* at = first; at; at = at->ifa_next) {
        const auto same = [&](const auto& known) { return known.name == at->ifa_name; };
        auto found = std::find_if(all.begin(), all.end(), same);
        if (found == all.end()) {
            found = all.insert(all.end(), {.name = at->ifa_name,
                                           .up = (at->ifa_flags & IFF_UP) != 0,
                                           .loopback = (at->ifa_flags & IFF_LOOPBACK) != 0,
                                           .address = false});
        }
        const int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;
        found->address = found->address || family == AF_INET || family == AF_INET6;
    }
    return all;
}

}  // namespace deadrank::runners
