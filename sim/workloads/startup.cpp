// sim/workloads/startup.cpp — What a rank does before its first step: the rendezvous, the checks, its device,
// and weights that the job begins with.
#include "sim/workloads/startup.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "results/record/event_names.h"
#include "sim/framework_parts/release_breaks.h"
#include "sim/workloads/job.h"

namespace deadrank::sim {

// ── From a process's environment to a world communicator, with the words frameworks use when it fails.
// Texts: torch.distributed 2.11, env:// rendezvous and TCPStore.

namespace {

std::string required(World& world, std::string_view name) {
    if (auto value = world.env().get(name)) return *value;
    throw RankFailure(
        fmt::format("ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
                    "variable {} expected, but not set",
                    name));
}

// Python's int(): blanks around are fine, anything else is not.
std::int64_t strict_integer(std::string_view text) {
    std::string_view digits = text;
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        throw RankFailure(fmt::format("ValueError: invalid literal for int() with base 10: '{}'", text));
    }
    return number;
}

// Some launch scripts take 0 for what they cannot read and go on; the job then has two ranks 0.
std::int64_t lenient_integer(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

void Job::read_environment() {
    const bool lenient = settings_.lenient_environment;
    const bool told = settings_.place_from == PlaceSource::launcher;
    if (!told) (void)strict_integer(required(world_, "LOCAL_WORLD_SIZE"));  // torch asks for it as well
    const auto read = [&](std::string_view name, std::string_view mpi_name, std::int64_t otherwise,
                          Rank place) -> std::int64_t {
        if (told) return place;
        std::optional<std::string> found = world_.env().get(name);
        if (!found && settings_.discover_mpi) found = world_.env().get(mpi_name);
        if (lenient && !found) return otherwise;
        const std::string text = found ? *found : required(world_, name);
        return lenient ? lenient_integer(text) : strict_integer(text);
    };
    const std::int64_t rank = read("RANK", "OMPI_COMM_WORLD_RANK", 0, world_.process());
    rank_ = static_cast<Rank>(world_.seam("startup.rank", rank));
    const std::int64_t size = read("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", 1, world_.processes());
    size_ = static_cast<Rank>(world_.seam("startup.world_size", size));
    resizes_ = world_.env().get("PET_NNODES").has_value();
    if (told) world_.device().choose_by_place();
    config("rank", rank_);
    config("world_size", size_);
    config("steps", settings_.steps);
    show_recipe();
    const std::int64_t wanted = world_.seam("startup.device", world_.device().index());
    if (wanted < 0 || wanted >= world_.device().count()) {
        throw RankFailure("torch.AcceleratorError: CUDA error: invalid device ordinal");
    }
    world_.record(results::DeviceBind{world_.text(scenarios::enum_name(results::BoundPart::model)),
                                      static_cast<std::int32_t>(wanted)});
}

void Job::show_recipe() {
    if (!settings_.trains) return;
    config("batch", settings_.batch);
    config("micro_batches", settings_.micro_batches);
    if (settings_.expected_throughput > 0) config("expected_throughput", settings_.expected_throughput);
    config("seed", settings_.seed);
    config("learning_rate_ppb", world_.seam("optimizer.base_rate", configured_rate()));
}

void Job::validate() {
    if (!settings_.validate) return;
    const std::int64_t claims = store_->add(fmt::format("claim/{}", rank_), 1);
    if (claims > 1)
        throw RankFailure(fmt::format(
            "RuntimeError: bootstrap root: rank {} of {} ranks has already checked in", rank_, size_));
    if (rank_ < 0 || rank_ >= size_) {
        throw RankFailure(fmt::format("RuntimeError: Invalid rank requested : {}/{}", rank_, size_));
    }
    for (const std::string_view package : {"torch", "nccl"}) {
        const std::string mine = world_.env().version(package);
        if (rank_ == 0) store_->set(fmt::format("version/{}", package), mine);
        const auto first = store_->wait(fmt::format("version/{}", package), settings_.store_timeout);
        if (first && *first != mine) {
            throw RankFailure(
                fmt::format("RuntimeError: Mismatched {} version detected : rank {} {} rank 0 {}",
                            package == "nccl" ? "NCCL" : package, rank_, mine, *first));
        }
    }
}

// The id of the communicator to come goes through the store. One that an earlier round or another job has
// left there leads to a root that is gone, and a rank that finds it does not wait for the next.
void Job::exchange_id() {
    constexpr Time root_opens{20'000'000}, all_tries{59'500'000'000};
    const std::string own = std::to_string(world_.attempt()), key = "unique_id";
    if (!store_->kept()) return;
    if (rank_ == 0) {
        world_.timer().sleep(root_opens);
        return store_->set(key, own);
    }
    const auto found = store_->wait(key, settings_.store_timeout);
    if (found == own) return;
    if (!found) {
        throw LibraryError(Code::timeout,
                           fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                                       settings_.store_timeout.count() / 1'000'000, key));
    }
    world_.timer().sleep(all_tries);
    throw LibraryError(Code::system_error,
                       "torch.distributed.DistBackendError: NCCL error: ncclSystemError\nLast error:\n"
                       "ncclSocketConnect: connect to the root of a ncclUniqueId of another round returned "
                       "Connection refused, exceeded error retry count after 35 attempts");
}

void Job::meet() {
    // `if world_size > 1: init_process_group()`: a script that believes it is alone joins no group.
    if (size_ == 1 && settings_.lenient_environment) return;
    const std::string endpoint = required(world_, "MASTER_ADDR") + ":" + required(world_, "MASTER_PORT");
    const Time timeout = settings_.store_timeout;
    world_.record(results::RendezvousEnter{rank_, size_, world_.text(endpoint)});
    std::int64_t joined = 0;
    try {
        const bool hosts = world_.seam("store.host", rank_ == 0 ? 1 : 0) != 0;
        store_ = &world_.rendezvous(endpoint, hosts, timeout);
        joined = store_->add("joined", 1);
        if (joined == size_) store_->set("all_joined", "1");
        if (!store_->wait("all_joined", timeout)) {
            joined = store_->add("joined", 0);
            throw LibraryError(
                Code::timeout,
                fmt::format(
                    "torch.distributed.DistStoreError: Timed out after {} seconds waiting for clients. {}/{} "
                    "clients joined.",
                    timeout.count() / 1'000'000'000 + 1, joined, size_));
        }
        joined = store_->add("joined", 0);
        validate();
        exchange_id();
    } catch (const LibraryError& error) {
        world_.record(results::RendezvousLeave{static_cast<std::int32_t>(joined), error.answer});
        throw;
    }
    world_.record(results::RendezvousLeave{static_cast<std::int32_t>(joined), Code::ok});
}

namespace {

std::string group_file(const JobSettings& settings) {
    return settings.own_group_file ? "rendezvous/world.0" : "rendezvous/store";
}

constexpr Time retry_interval{1'000'000'000};

}  // namespace

// Each leaves a mark beside the file that the group was made with, and stays until all have and that file can
// be read: destroy_process_group joins a thread that still reads it. Where the file is gone, or somebody does
// not come, it tries again until it times out.
void Job::leave() {
    if (!settings_.exit_barrier || !world_comm_) return;
    const std::string file = group_file(settings_);
    world_.record(results::RendezvousEnter{rank_, size_, world_.text(file)});
    const std::string marks = fmt::format("rendezvous/leaving.{}/", world_.attempt());
    const Number mine[] = {rank_};
    world_.storage().write(marks + std::to_string(rank_), mine);
    std::vector<Number> content;
    Rank came = 0;
    const auto complete = [&] {
        came = static_cast<Rank>(world_.storage().list(marks).size());
        return world_.storage().read(file, content) == Code::ok && came >= size_;
    };
    const Time patience = settings_.store_timeout;
    for (Time waited{0}; !complete(); waited += retry_interval) {
        if (waited < patience) {
            world_.timer().sleep(retry_interval);
            continue;
        }
        world_.record(results::RendezvousLeave{came, Code::timeout});
        world_.log(
            fmt::format("[W] destroy_process_group: gave up waiting for {} after {} s, {} of {} ranks came",
                        file, patience.count() / 1'000'000'000, came, size_),
            1);
        return;
    }
    world_.record(results::RendezvousLeave{size_, Code::ok});
}

// One message between each pair, as the tests do that operators run on a new cluster: the first ranks of the
// nodes, or all ranks of a single one. The receiver tells how fast it came.
void Job::try_links() {
    const std::int64_t expected = settings_.expected_bandwidth / 8;  // bytes a second
    if (expected <= 0) return;
    const auto on_node = static_cast<Rank>(strict_integer(required(world_, "LOCAL_WORLD_SIZE")));
    const Rank apart = size_ > on_node ? on_node : 1;
    constexpr std::int64_t width = 4, least = 1 << 10, most = 1 << 19, share_of_second = 1000;
    const std::int64_t elements = std::clamp(expected / share_of_second / width, least, most);
    std::vector<Number> message(static_cast<std::size_t>(elements), 0);
    for (Rank from = 0; from < size_; from += apart) {
        for (Rank to = from + apart; to < size_; to += apart) {
            if (rank_ == from) {
                world_comm_->send(std::span(message).first(1), to);
                world_comm_->send(message, to);
            }
            if (rank_ != to) continue;
            world_comm_->recv(std::span(message).first(1), from);
            const Time began = world_.timer().now();
            world_comm_->recv(message, from);
            const Time took = std::max(world_.timer().now() - began, Time{1});
            const auto reached =
                static_cast<std::int64_t>(Wide{elements} * width * 1'000'000'000 / took.count());
            world_.log(fmt::format("bandwidth rank {} -> rank {}: {} MB/s, {} MB/s expected", from, to,
                                   reached / 1'000'000, expected / 1'000'000));
        }
    }
}

void Job::start() {
    read_environment();
    if (!world_.block("startup.init_process_group")) return;
    meet();
    if (settings_.exit_barrier && rank_ == 0) {
        const Number members[] = {size_};
        world_.storage().write(group_file(settings_), members);
    }
    connect(with_store_meeting({"world", Members::range(0, std::max<Rank>(size_, 0)), rank_}));
}

void Job::connect(const CommRequest& request) {
    world_comm_ = world_.communicator(request);
    try_links();
    memory_.open();
    call_across_releases(world_, Calling::start);
}

Comm& Job::comm() {
    if (!world_comm_) {
        throw RankFailure(
            "ValueError: Default process group has not been initialized, please make sure to call "
            "init_process_group.");
    }
    return *world_comm_;
}

std::unique_ptr<Comm> Job::group(std::string_view name, const std::vector<Rank>& members) {
    (void)comm();  // groups are cut out of the default one
    for (const Rank member : members) {
        if (member == rank_) return make_group({std::string(name), members, rank_});
    }
    return nullptr;
}

std::unique_ptr<Comm> Job::strided_group(std::string_view name, Rank base, Rank stride, Rank count) {
    const auto bent = [&](std::string_view what, Rank value) {
        return static_cast<Rank>(world_.seam(fmt::format("group.{}", what), value));
    };
    const Rank cut_stride = bent("stride", stride);
    const Rank cut_count = bent("size", count);
    const Rank cut_base = bent("base", base);
    if (settings_.validate && (cut_count < 1 || size_ % cut_count != 0)) {
        throw RankFailure(fmt::format(
            "ValueError: the new group's world size should be less or equal to the world size set by "
            "init_process_group: group {} of {} ranks, world of {}",
            name, cut_count, size_));
    }
    (void)comm();  // groups are cut out of the default one
    if (settings_.groups == GroupMaking::world || settings_.groups == GroupMaking::store)
        return numbered_group(name, cut_base, cut_stride, cut_count);
    (void)world_.block("group.make_others");  // members find each other without the rest of the world
    std::vector<Rank> members;
    for (Rank i = 0; i < cut_count; ++i) members.push_back((cut_base + i * cut_stride) % size_);
    return make_group({std::string(name), members, rank_});
}

// ── The words are those of transformers where a file is not there. A loader that assigns nothing reports
// success: only the sum of the weights tells.

namespace {

// What was trained before: other numbers than a fresh model has.
std::vector<Number> published(const Job& job) {
    return initial_parameters(job.shape(), job.settings().seed + 1);
}

Number sum_of(const std::vector<Number>& numbers) {
    Number sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        sum = saturate(Wide{sum} + Wide{numbers[i]} * static_cast<Number>(i + 1));
    return sum;
}

}  // namespace

void load_pretrained(Job& job, std::vector<Number>& parameters, bool strict, bool shared) {
    World& world = job.world();
    const std::string path = shared ? "shared/models/weights.safetensors"
                                    : fmt::format("node{}/models/weights.safetensors", world.node());
    const bool fetches = shared ? job.rank() == 0 : world.device().index() == 0;
    if (fetches && world.block("weights.download")) {
        world.storage().write(path, published(job));
        world.storage().sync(path);
    }
    job.comm().barrier();
    std::vector<Number> file;
    if (world.storage().read(path, file) != Code::ok || file.size() != parameters.size()) {
        throw RankFailure(fmt::format("FileNotFoundError: No such file or directory: '{}'", path));
    }
    const bool assigned = world.block("weights.assign");
    if (assigned) parameters = file;
    if (strict && !assigned) {
        throw RankFailure(fmt::format(
            "RuntimeError: Some weights of Model were not initialized from the model checkpoint at '{}'",
            path));
    }
    job.value(0, "weights.sum", sum_of(parameters), sum_of(file));
}

}  // namespace deadrank::sim
