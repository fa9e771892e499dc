// runners/backends/gpu_rank/line.cpp — A new thread begins on device 0, whatever its process chose.
#include "runners/backends/gpu_rank/line.h"

#include <thread>

#include "results/record/codes.h"

namespace deadrank::runners {

namespace {
constexpr std::chrono::microseconds line_look_again{200};
constexpr int timeout = static_cast<int>(results::Code::timeout);
}  // namespace

NcclLine::NcclLine(const Api& functions, int device, int own, int members, NcclManner how)
    : api(functions), rank(own), size(members), manner(how), lane([cuda = &functions.cuda, device] {
          cuda->set_device(device);
      }) {
    api.cuda.stream(&stream, non_blocking);
}

void NcclLine::open(const NcclId& id) {
    NcclHandle made = nullptr;
    NcclConfig config;
    int code = manner.blocks ? api.nccl.init(&made, size, id, rank)
                             : api.nccl.init_by_config(&made, size, id, rank, &config);
    if (code == nccl_in_progress) code = settle(made, manner.patience);
    if (code == timeout) {
        text = api.nccl.words(nccl_in_progress);
        api.nccl.abort(made);
        made = nullptr;
    } else if (code != 0) {
        const char* said = api.nccl.last_error(nullptr);
        text = said && *said ? said : api.nccl.words(code);
    }
    handle = made;
    trouble = code;
}

int NcclLine::settle(NcclHandle of, std::chrono::nanoseconds patience) {
    const auto begun = std::chrono::steady_clock::now();
    for (;;) {
        int state = 0;
        if (const int code = api.nccl.async_error(of, &state); code != 0) return code;
        if (state != nccl_in_progress) return state;
        if (patience.count() > 0 && std::chrono::steady_clock::now() - begun > patience) return timeout;
        std::this_thread::sleep_for(line_look_again);
    }
}

}  // namespace deadrank::runners
