// tests/programs/shims/profiler_driver_main.cpp — Tells a profiler plugin what NCCL tells it of two
// all-reduces and a message on one communicator; the kernel of the message never ends. profiler_driver PLUGIN
// VERSION
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "inject/shims/profiler/profiler_abi.h"

namespace {

using namespace deadrank::inject::shims;

template <class Table, class Event>
class Driver {
public:
    Driver(const Table& table, int mask, void* context) : table_(table), mask_(mask), context_(context) {}

    void* begin(Event& event) {
        void* handle = nullptr;
        if ((static_cast<std::uint64_t>(mask_) & event.type) != 0) table_.start(context_, &handle, &event);
        return handle;
    }

    void all_reduce(int channels) {
        if constexpr (sizeof(Event::type) == sizeof(std::uint64_t)) {
            Event call{event_coll_api, nullptr, 0, {}};
            call.coll_api = {"AllReduce", 1024, "ncclFloat32", 0, nullptr, false};
            table_.stop(begin(call));
        }
        Event coll{event_coll, nullptr, 0, {}};
        coll.coll = {1,    "AllReduce", nullptr,       nullptr,
                     1024, 0,           "ncclFloat32", static_cast<std::uint8_t>(channels),
                     8,    "RING",      "SIMPLE",      nullptr};
        void* enqueued = begin(coll);
        std::vector<void*> kernels;
        for (int i = 0; i < channels; ++i) {
            Event kernel{event_kernel_channel, enqueued, 0, {}};
            kernels.push_back(begin(kernel));
        }
        table_.stop(enqueued);
        for (void* kernel : kernels) table_.stop(kernel);
    }

    void send_that_hangs() {
        Event message{event_p2p, nullptr, 0, {}};
        message.p2p = {"Send", nullptr, "ncclBfloat16", 77, 3, 1, nullptr};
        void* enqueued = begin(message);
        Event kernel{event_kernel_channel, enqueued, 0, {}};
        begin(kernel);
        table_.stop(enqueued);
    }

private:
    const Table& table_;
    int mask_;
    void* context_;
};

template <class Table, class Event>
int play(const Table& table, int mask, void* context) {
    Driver<Table, Event> driver(table, mask, context);
    for (int i = 0; i < 2; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        driver.all_reduce(2);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        std::printf("all_reduce ms=%.0f\n", took.count());
    }
    driver.send_that_hangs();
    return table.finalize(context);
}

}  // namespace

int main(int argc, char** argv) {
    void* library = argc == 3 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
    const int version = argc == 3 ? std::atoi(argv[2]) : 0;
    void* table = library ? ::dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()) : nullptr;
    if (!table) return 1;
    void* context = nullptr;
    int mask = -1;
    if (version == 5) {
        const auto& profiler = *static_cast<const Profiler5*>(table);
        profiler.init(&context, 42, &mask, "tp", 1, 4, 1, nullptr);
        std::printf("%s mask=%d\n", profiler.name, mask);
        return play<Profiler5, Event5>(profiler, mask, context);
    }
    const auto& profiler = *static_cast<const Profiler4*>(table);
    profiler.init(&context, &mask, "tp", 42, 1, 4, 1, nullptr);
    std::printf("%s mask=%d\n", profiler.name, mask);
    return play<Profiler4, Event4>(profiler, mask, context);
}
