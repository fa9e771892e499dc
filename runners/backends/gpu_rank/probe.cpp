// runners/backends/gpu_rank/probe.cpp — In a process of its own: libraries of a vendor are loaded, and may do
// as they like.
#include "runners/backends/gpu_rank/probe.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runners/backends/gpu_rank/api.h"
#include "runners/backends/gpu_rank/claimed_version.h"

namespace deadrank::runners {

int probe() {
    nlohmann::ordered_json found;
    const auto api = open_api();
    if (!api) {
        found["why"] = api.error().what;
    } else {
        answer_for_version(api->nccl.version, 0);
        std::string why;
        const int count = device_count(api->cuda, why);
        int nccl = 0, cuda = 0;
        api->nccl.version(&nccl);
        api->cuda.version(&cuda);
        found = {{"standin", api->standin},
                 {"nccl", nccl_version_text(nccl)},
                 {"claims_heard", api->standin || claim_is_heard(nccl)},
                 {"cuda", fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10)},
                 {"nccl_library", api->nccl_library},
                 {"cuda_library", api->cuda_library},
                 {"devices", device_names(count)},
                 {"why", why}};
    }
    for (const NcclRelease& release : further_releases())
        found["further_releases"][nccl_version_text(release.code)] = release.library;
    fmt::print("{}\n", found.dump());
    return 0;
}

}  // namespace deadrank::runners
