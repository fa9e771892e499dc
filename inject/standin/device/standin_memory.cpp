// inject/standin/device/standin_memory.cpp — The devices that a process sees, and their memory.
#include "inject/standin/device/standin_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "inject/standin/device/capture.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/device/memory_keeper.h"
#include "inject/standin/device/virtual_memory.h"

namespace deadrank::inject::standin {

namespace {
// Blocks are aligned as cudaMalloc aligns, and never move.
constexpr std::size_t alignment = 512;

deadrank_memory_keeper keeper{};

// The keeper may wait for another process, so it is asked without a lock.
bool keeper_has_room(int device, std::size_t size) {
    return !keeper.take || keeper.take(device, static_cast<std::int64_t>(size)) == 0;
}

void give_back_to_keeper(int device, std::size_t size) {
    if (keeper.give_back) keeper.give_back(device, static_cast<std::int64_t>(size));
}
}

std::size_t Memory::capacity() { return device::model().memory_bytes(); }

std::size_t Memory::used(int device) const {
    const auto committed = committed_.find(device);
    std::size_t sum = committed == committed_.end() ? 0 : committed->second;
    for (const auto& [begin, block] : blocks_) {
        if (block.where == Where::device && block.device == device) sum += block.size;
    }
    return sum;
}

bool Memory::has_room(std::size_t size, int device) const {
    {
        const std::lock_guard lock(mutex_);
        if (used(device) + size > capacity()) return false;
    }
    return keeper_has_room(device, size);
}

void* Memory::take(std::size_t size, Where where, int device) {
    if (size > capacity() || (where == Where::device && !has_room(size, device))) return nullptr;
    const std::size_t rounded = std::max(alignment, (size + alignment - 1) / alignment * alignment);
    char* at = static_cast<char*>(std::aligned_alloc(alignment, rounded));
    if (!at) {
        if (where == Where::device) give_back_to_keeper(device, size);
        return nullptr;
    }
    const std::lock_guard lock(mutex_);
    blocks_[at] = {at, size, where, device};
    return at;
}

bool Memory::give_back(void* at) {
    Block block;
    {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(static_cast<char*>(at));
        if (found == blocks_.end() || found->second.where == Where::registered ||
            found->second.where == Where::mapped)
            return false;
        block = found->second;
        blocks_.erase(found);
    }
    std::free(at);
    if (block.where == Where::device) give_back_to_keeper(block.device, block.size);
    return true;
}

bool Memory::add_block(void* at, std::size_t size, Where where, int device) {
    const std::lock_guard lock(mutex_);
    char* begin = static_cast<char*>(at);
    return begin && blocks_.try_emplace(begin, Block{begin, size, where, device}).second;
}

bool Memory::strike(void* at, Where where) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(at));
    if (found == blocks_.end() || found->second.where != where) return false;
    blocks_.erase(found);
    return true;
}

bool Memory::commit(std::size_t size, int device) {
    if (!has_room(size, device)) return false;
    const std::lock_guard lock(mutex_);
    committed_[device] += size;
    return true;
}

void Memory::uncommit(std::size_t size, int device) {
    {
        const std::lock_guard lock(mutex_);
        committed_[device] -= size;
    }
    give_back_to_keeper(device, size);
}

std::optional<Block> Memory::find(const void* at) const {
    const std::lock_guard lock(mutex_);
    const char* place = static_cast<const char*>(at);
    auto found = blocks_.upper_bound(place);
    if (found == blocks_.begin()) return std::nullopt;
    Block block = (--found)->second;
    if (place >= block.begin + std::max<std::size_t>(block.size, 1)) return std::nullopt;
    // A tensor may lie in several pieces that are mapped next to each other.
    while (block.where == Where::mapped && ++found != blocks_.end() && found->second.where == Where::mapped &&
           found->second.begin == block.begin + block.size)
        block.size += found->second.size;
    return block;
}

std::size_t Memory::left(int device) const {
    const std::int64_t of_all = keeper.left ? keeper.left(device) : -1;
    if (of_all >= 0) return static_cast<std::size_t>(of_all);
    const std::lock_guard lock(mutex_);
    return capacity() - used(device);
}

// ── Handles are addresses that are looked up, so that a wrong one is refused rather than followed.

namespace {

thread_local int current_device = 0;

int count_from_environment() {
    if (!device::model_is_known()) return 0;
    const char* said = std::getenv("DEADRANK_STANDIN_DEVICES");
    const int count = said ? std::atoi(said) : 0;
    constexpr int most = 120;  // as many as torch can count
    return count > 0 ? std::min(count, most) : 8;
}

template <class Set>
auto find_in(Set& set, const void* handle) {
    return std::find_if(set.begin(), set.end(), [&](const auto& one) { return one.get() == handle; });
}

}  // namespace

Devices& Devices::of_this_process() {
    static Devices& all = *new Devices;  // outlives the threads of streams
    return all;
}

// There is a stream even without a device, since programs ask for handles all the same.
Devices::~Devices() = default;

Devices::Devices()
    : virtual_memory_(std::make_unique<VirtualMemory>(memory)),
      on_machine_(count_from_environment()),
      visible_(visible_devices(std::getenv("CUDA_VISIBLE_DEVICES"), on_machine_)) {
    for (int device = 0; device < std::max(1, count()); ++device)
        defaults_.push_back(std::make_unique<Stream>(device, 0, 0));
}

int Devices::physical(int device) const {
    return device < 0 || device >= count() ? -1 : visible_[static_cast<std::size_t>(device)];
}

int Devices::visible(int physical) const {
    const auto found = std::find(visible_.begin(), visible_.end(), physical);
    return found == visible_.end() ? -1 : static_cast<int>(found - visible_.begin());
}

int Devices::current() const { return current_device; }

bool Devices::choose(int device) {
    if (device < 0 || device >= count()) return false;
    current_device = device;
    return true;
}

Stream& Devices::default_stream(int device) { return *defaults_[static_cast<std::size_t>(device)]; }

Stream* Devices::stream(const void* handle) {
    if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return &default_stream(current_device);
    const std::lock_guard lock(mutex_);
    const auto found = find_in(streams_, handle);
    if (found != streams_.end()) return found->get();
    const auto same = find_in(defaults_, handle);
    return same == defaults_.end() ? nullptr : same->get();
}

Stream* Devices::open(unsigned flags, int priority) {
    const std::lock_guard lock(mutex_);
    return streams_.insert(std::make_unique<Stream>(current_device, flags, priority)).first->get();
}

// Its work is still done, so the stream itself stays: a program destroys few of them.
bool Devices::close(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = find_in(streams_, handle);
    if (found == streams_.end()) return false;
    closed_.push_back(streams_.extract(found).value().release());
    return true;
}

std::vector<Stream*> Devices::of(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<Stream*> all{&default_stream(device)};
    for (const auto& stream : streams_) {
        if (stream->device == device) all.push_back(stream.get());
    }
    for (Stream* stream : closed_) {
        if (stream->device == device) all.push_back(stream);
    }
    return all;
}

void Devices::push(Stream& stream, Stream::Work work) {
    if (Captures::of_this_process().any() &&
        Captures::of_this_process().add(stream, [this, work](Stream& into) { push(into, work); }))
        return;
    Stream& standard = default_stream(stream.device);
    if (&stream != &standard) {
        if (!(stream.flags & non_blocking) && !standard.idle()) {
            stream.push([&standard, number = standard.pushed()] { standard.wait(number); });
        }
        stream.push(std::move(work));
        return;
    }
    for (Stream* other : of(stream.device)) {
        if (other == &stream || (other->flags & non_blocking) || other->idle()) continue;
        stream.push([other, number = other->pushed()] { other->wait(number); });
    }
    stream.push(std::move(work));
}

void Devices::drain(int device) {
    for (const Stream* stream : of(device)) stream->drain();
}

bool Devices::idle(int device) {
    const auto all = of(device);
    return std::all_of(all.begin(), all.end(), [](const Stream* stream) { return stream->idle(); });
}

Event* Devices::open_event(unsigned flags) {
    const std::lock_guard lock(mutex_);
    return events_.insert(std::make_unique<Event>(flags)).first->get();
}

// Linear in what a program holds at once, which is some hundreds.
Event* Devices::event(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = find_in(events_, handle);
    return found == events_.end() ? nullptr : found->get();
}

bool Devices::close_event(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = find_in(events_, handle);
    if (found == events_.end()) return false;
    Captures::of_this_process().forget(**found);
    events_.erase(found);
    return true;
}

}  // namespace deadrank::inject::standin

extern "C" void deadrank_keep_memory(const deadrank_memory_keeper* given) { deadrank::inject::standin::keeper = *given; }
