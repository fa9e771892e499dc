// inject/standin/runtime/streams.cpp — Streams and events. A query says not ready while anything before it is
// unfinished: that one rule gives hangs, stragglers and time-outs. What a captured stream is told goes into
// its graph (graphs.cpp).
#include "inject/standin/device/capture.h"
#include "inject/standin/device/clock.h"
#include "inject/standin/runtime/runtime.h"

using namespace deadrank::inject::standin;

namespace {

cudaError_t open(cudaStream_t* into, unsigned flags, int priority) {
    if (!into) return answer(cudaErrorInvalidValue);
    *into = reinterpret_cast<cudaStream_t>(devices().open(flags, priority));
    return cudaSuccess;
}

cudaError_t open_event(cudaEvent_t* into, unsigned flags) {
    if (!into) return answer(cudaErrorInvalidValue);
    *into = reinterpret_cast<cudaEvent_t>(devices().open_event(flags));
    return cudaSuccess;
}

template <class Action>
cudaError_t with_stream(cudaStream_t handle, Action action) {
    Stream* stream = devices().stream(handle);
    return stream ? action(*stream) : answer(cudaErrorInvalidResourceHandle);
}

template <class Action>
cudaError_t with_event(cudaEvent_t handle, Action action) {
    Event* event = devices().event(handle);
    return event ? action(*event) : answer(cudaErrorInvalidResourceHandle);
}

// Not ready is an answer, not an error, so it is not remembered.
template <class Question>
cudaError_t ready(Question done) {
    device::charge_query();
    return done() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream) {
    return with_event(handle, [&](Event& event) {
        Stream* into = devices().stream(stream);
        if (!into) return answer(cudaErrorInvalidResourceHandle);
        if (captures().record(event, *into)) return cudaSuccess;
        return push(stream, event.record());
    });
}

// A captured stream or event has no time at which it is ready.
template <class Action>
cudaError_t with_stream_at_work(cudaStream_t handle, Action action) {
    return with_stream(handle, [&](Stream& stream) {
        if (captures().spoil(stream)) return answer(cudaErrorStreamCaptureUnsupported);
        return action(stream);
    });
}
template <class Action>
cudaError_t with_event_at_work(cudaEvent_t handle, Action action) {
    return with_event(handle, [&](Event& event) {
        if (captures().is_captured(event)) return answer(cudaErrorCapturedEvent);
        return action(event);
    });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* into) { return open(into, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* into, unsigned flags) { return open(into, flags, 0); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* into, unsigned flags, int priority) {
    return open(into, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return devices().close(stream) ? cudaSuccess : answer(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return with_stream_at_work(handle, [](Stream& stream) { return ready([&] { return stream.idle(); }); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    return with_stream_at_work(handle, [](Stream& stream) {
        stream.drain();
        return cudaSuccess;
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
    return with_event(handle, [&](Event& event) {
        Stream* waiting = devices().stream(stream);
        if (!waiting) return answer(cudaErrorInvalidResourceHandle);
        switch (captures().wait(*waiting, event)) {
            case Captures::Wait::joined:
                return cudaSuccess;
            case Captures::Wait::isolated:
                captures().spoil(*waiting);
                return answer(cudaErrorStreamCaptureIsolation);
            case Captures::Wait::not_captured:
                break;
        }
        return push(stream, event.barrier());
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
    return with_stream(handle, [&](Stream& stream) { return *priority = stream.priority, cudaSuccess; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
    return with_stream(handle, [&](Stream& stream) { return *flags = stream.flags, cudaSuccess; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
    return with_stream(handle, [&](Stream& stream) { return *device = stream.device, cudaSuccess; });
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
    return with_stream(handle, [&](Stream& stream) {
        *id = reinterpret_cast<unsigned long long>(&stream);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t, unsigned) { return cudaSuccess; }

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    if (!function) return answer(cudaErrorInvalidValue);
    return push(stream, [=] { function(data); });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
    if (!function) return answer(cudaErrorInvalidValue);
    return push(stream, [=] { function(stream, cudaSuccess, data); });
}

cudaError_t cudaEventCreate(cudaEvent_t* into) { return open_event(into, 0); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* into, unsigned flags) { return open_event(into, flags); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return devices().close_event(event) ? cudaSuccess : answer(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return record(event, stream); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return record(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return with_event_at_work(handle, [](Event& event) { return ready([&] { return event.done(); }); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return with_event_at_work(handle, [](Event& event) {
        event.wait();
        return cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    const Event *first = devices().event(from), *second = devices().event(to);
    if (!milliseconds || !first || !second) return answer(cudaErrorInvalidResourceHandle);
    if (!first->recorded() || !second->recorded() ||
        ((first->flags | second->flags) & cudaEventDisableTiming)) {
        return answer(cudaErrorInvalidResourceHandle);
    }
    if (!first->done() || !second->done()) return cudaErrorNotReady;
    constexpr float ns_per_ms = 1e6F;
    *milliseconds = static_cast<float>(second->when() - first->when()) / ns_per_ms;
    return cudaSuccess;
}
}
