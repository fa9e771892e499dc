// runners/gpu/linked/line.cpp — A new thread begins on device 0, whatever its process chose.
#include "runners/gpu/linked/line.h"

namespace deadrank::runners {

namespace {
constexpr unsigned non_blocking = 1;
}

NcclLine::NcclLine(const Api& functions, int device, int own, int members)
    : api(functions),
      rank(own),
      size(members),
      lane([cuda = &functions.cuda, device] { cuda->set_device(device); }) {
    api.cuda.stream(&stream, non_blocking);
}

void NcclLine::open(const NcclId& id) {
    NcclHandle made = nullptr;
    const int code = api.nccl.init(&made, size, id, rank);
    if (code != 0) {
        const char* said = api.nccl.last_error(nullptr);
        text = said && *said ? said : api.nccl.words(code);
    }
    handle = made;
    trouble = code;
}

}  // namespace deadrank::runners
