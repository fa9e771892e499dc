// runners/backends/gpu_rank/nccl_library.cpp — NCCL in this rank: the loaded library, its unique id as text,
// and the release that it claims to be.
#include "runners/backends/gpu_rank/nccl_library.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/gpu_rank/nccl_wire.h"
#include "sim/collectives/library_texts.h"
#include "sim/collectives/nccl_settings.h"
#include "sim/world/failure.h"

namespace deadrank::runners {

// ── Settings that the plan leaves open are chosen to work on any machine: the loopback interface, sockets
// between ranks that share a device, a log file per rank.

namespace fs = std::filesystem;
using results::Code;

namespace {

constexpr std::chrono::seconds shutdown_limit{2};

// The result of one job of a lane; it may outlive the caller.
struct JobAnswer {
    std::atomic<int> code = -1;
    NcclId id{};
    std::string text;
};

// The library of that release if there is one, else the release is only claimed.
std::string library_of(int release) {
    if (release == 0) return {};
    for (const NcclRelease& one : further_releases()) {
        if (one.code == release) return one.library;
    }
    return {};
}

}  // namespace

void NcclLibrary::set_environment(const std::map<std::string, std::string>& environment) {
    for (const auto& [name, value] : environment) {
        if (name.starts_with("NCCL_")) ::setenv(name.c_str(), value.c_str(), 1);
    }
    const fs::path log = directory_ / "logs" / std::to_string(process_);
    std::error_code ignored;
    fs::create_directories(log, ignored);
    ::setenv("NCCL_DEBUG_FILE", (log / "stderr.log").c_str(), 1);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    ::setenv("NCCL_IB_DISABLE", "1", 0);
    // Keeps the stand-in from writing evidence that we write already.
    ::setenv("DEADRANK_PID", std::to_string(::getpid()).c_str(), 1);
}

// Reads c10d's variables. c10d's default time-out is half an hour; here it is a minute of job time, or the
// outer watchdog would fire first.
void NcclLibrary::choose_manner(const std::map<std::string, std::string>& environment) {
    const auto said = environment.find("TORCH_NCCL_USE_COMM_NONBLOCKING");
    if (said == environment.end() || (said->second != "1" && said->second != "true")) return;
    const auto patience = environment.find("TORCH_NCCL_NONBLOCKING_TIMEOUT");
    const int seconds = patience == environment.end() ? 0 : std::atoi(patience->second.c_str());
    context_.manner = {false, JobClock::real(std::chrono::seconds(seconds > 0 ? seconds : 60))};
}

scenarios::Result<void> NcclLibrary::open(const Opening& opening) {
    const auto refuse = [](const std::string& what) {
        return scenarios::refuse(scenarios::ErrorCode::environment, what);
    };
    set_environment(opening.environment);
    choose_manner(opening.environment);
    const auto claim = opening.claimed.find("nccl");
    const int claimed = claim == opening.claimed.end() ? 0 : sim::nccl_version_code(claim->second);
    const std::string library = library_of(claimed);
    auto api = open_api(library);
    if (!api) return tl::unexpected(api.error());
    context_.api = *api;
    answer_for_version(context_.api.nccl.version, library.empty() ? claimed : 0);
    std::string why;
    const int devices = device_count(context_.api.cuda, why);
    if (devices == 0) return refuse(fmt::format("there is no GPU: {}", why));
    // LOCAL_RANK chooses the device, as in frameworks. If a node has fewer devices than ranks, several share
    // one; each then poses as a separate host, or NCCL would refuse them.
    const auto local = opening.environment.find("LOCAL_RANK");
    const int wanted = local == opening.environment.end() ? 0 : std::atoi(local->second.c_str());
    context_.device = std::max(wanted, 0) % devices;
    const bool shared = opening.ranks_per_node > devices;
    const std::string host =
        shared ? fmt::format("deadrank-rank{}", process_) : fmt::format("deadrank-node{}", opening.node);
    ::setenv("NCCL_HOSTID", host.c_str(), 0);
    if (const int code = context_.api.cuda.set_device(context_.device); code != cuda_ok)
        return refuse(fmt::format("device {}: {}", context_.device, context_.api.cuda.words(code)));
    try {
        context_.buffers = std::make_unique<Buffers>(context_.api.cuda);
        if (auto code = DeviceCode::make(context_.api, context_.device))
            context_.buffers->flip_by(std::move(*code));
    } catch (const sim::LibraryError& error) {  // other ranks hold the device's memory
        return refuse(error.what());
    }
    return {};
}

// The rank at place 0 creates the id; the meeting place brings it to the others, as c10d's store does.
void NcclLibrary::hand_over_id(RealRank& rank, const Joining& joining, NcclCommunicator& communicator,
                               NcclId& id) {
    if (joining.place != 0) {
        wait_for_first(rank, joining, [&] { return joining.here.get("unique id").has_value(); });
        id = from_hex(*joining.here.get("unique id"));
        return;
    }
    const auto made = std::make_shared<JobAnswer>();
    communicator.lane.post([made, nccl = &context_.api.nccl] {
        const int code = nccl->unique_id(&made->id);
        if (code != 0) made->text = nccl->words(code);
        made->code = code;
    });
    rank.gate.wait([&] { return made->code >= 0; });
    if (made->code != 0)
        fail_to_join(rank, *this, joining.id, static_cast<Code>(made->code.load()), made->text);
    id = made->id;
    joining.here.set("unique id", in_hex(id));
}

std::unique_ptr<Wire> NcclLibrary::join(RealRank& rank, const Joining& joining) {
    auto communicator = std::make_shared<NcclCommunicator>(context_.api, context_.device, joining.place,
                                                           joining.size, context_.manner);
    NcclId id{};
    hand_over_id(rank, joining, *communicator, id);
    communicator->lane.post([communicator, id] { communicator->open(id); });
    rank.gate.wait([&] { return communicator->trouble >= 0; });
    if (communicator->trouble != 0)
        fail_to_join(rank, *this, joining.id, static_cast<Code>(communicator->trouble.load()),
                     communicator->text);
    context_.communicators.push_back(communicator);
    return std::make_unique<NcclWire>(context_, communicator, joining.here);
}

void NcclLibrary::leave_free(std::int64_t bytes) {
    if (context_.buffers) context_.buffers->leave_free(bytes);
}

std::string NcclLibrary::exception(Code code, const std::string& text) const {
    if (code == Code::timeout)  // c10d's whole message
        return "torch.distributed.DistBackendError: NCCL timeout in: "
               "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:197";
    return sim::nccl_exception(code, version("nccl").value_or(""), text);
}

std::optional<std::string> NcclLibrary::version(std::string_view package) const {
    int code = 0;
    if (package == "nccl" && context_.api.nccl.version && claimed_version(&code) == 0)
        return nccl_version_text(code);
    if (package == "cuda" && context_.api.cuda.version && context_.api.cuda.version(&code) == cuda_ok)
        return fmt::format("{}.{}", code / 1000, code % 1000 / 10);
    return std::nullopt;
}

void NcclLibrary::close() {
    const auto left = std::make_shared<std::atomic<std::size_t>>(0);
    std::size_t open = 0;
    for (const auto& communicator : context_.communicators) {
        if (communicator->trouble != 0) continue;
        ++open;
        communicator->lane.post([left, communicator] {
            communicator->api.nccl.destroy(communicator->handle);
            ++*left;
        });
    }
    const auto until = std::chrono::steady_clock::now() + shutdown_limit;
    while (*left < open && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Two digits per byte.
std::string in_hex(const NcclId& id) {
    std::string text;
    for (const char byte : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

NcclId from_hex(const std::string& text) {
    NcclId id{};
    for (std::size_t i = 0; i < sizeof id.bytes && 2 * i + 1 < text.size(); ++i)
        id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return id;
}

}  // namespace deadrank::runners

// The one function of NCCL that this program exports.
namespace {

struct VersionAnswer {
    std::atomic<int (*)(int*)> real = nullptr;
    std::atomic<int> claimed = 0;
};
VersionAnswer& version_answer() {
    static VersionAnswer one;
    return one;
}

}  // namespace

int deadrank::runners::claimed_version(int* version) {
    constexpr int invalid_argument = 4;
    if (!version) return invalid_argument;
    if (const int claimed = version_answer().claimed) {
        *version = claimed;
        return 0;
    }
    int (*real)(int*) = version_answer().real;
    return real ? real(version) : invalid_argument;
}

extern "C" {
__attribute__((visibility("default"))) int ncclGetVersion(int* version);
int ncclGetVersion(int* version) { return deadrank::runners::claimed_version(version); }
}

void deadrank::runners::answer_for_version(int (*real)(int*), int claimed) {
    version_answer().real = real;
    version_answer().claimed = claimed;
}
