// results/emitters/kernel_logs.cpp — One ring buffer a node, as dmesg -T prints it. The patterns that health
// checks look for are theirs: "NVRM: Xid (PCI:…): N, …" and the killer's "Out of memory: Killed process".
#include <fmt/format.h>
#include <map>

#include "results/emitters/logs.h"
#include "results/emitters/processes.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

std::vector<EmittedFile> kernel_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<std::string, std::string> logs;
    for (const auto& [process, place] : places) {
        std::string& log = logs[place.host];
        if (log.empty())
            log = fmt::format("[{}] NVRM: loading NVIDIA UNIX Open Kernel Module\n", kernel_stamp(Time{0}));
    }
    for (const Event& event : evidence.events()) {
        const auto found = places.find(event.rank);
        if (event.at > snapshot.at) break;
        if (const auto* error = event.as<DeviceError>(); error && event.rank == no_rank) {
            // A line that names its node already: "node1 kernel: NVRM: …".
            const std::string_view line = evidence.text(error->message);
            const std::size_t kernel = line.find(" kernel: ");
            if (kernel == line.npos) continue;
            logs[std::string(line.substr(0, kernel))] +=
                fmt::format("[{}] {}\n", kernel_stamp(event.at), line.substr(kernel + 9));
        }
        if (found == places.end()) continue;
        const ProcessPlace& place = found->second;
        if (const auto* error = event.as<DeviceError>()) {
            logs[place.host] +=
                fmt::format("[{}] NVRM: Xid (PCI:{}): {}, pid={}, name=python3, {}\n", kernel_stamp(event.at),
                            bus_id(place.gpu), error->xid, place.pid, evidence.text(error->message));
        }
        if (const auto* oom = event.as<MemoryOom>(); oom && evidence.text(oom->where) == "host") {
            logs[place.host] += fmt::format("[{}] Out of memory: Killed process {} (python3) total-vm:{}kB\n",
                                            kernel_stamp(event.at), place.pid, oom->requested / 1024);
        }
    }
    std::vector<EmittedFile> files;
    for (auto& [host, text] : logs) files.push_back({fmt::format("kernel/{}.log", host), std::move(text)});
    return files;
}

}  // namespace deadrank::results::emitters
