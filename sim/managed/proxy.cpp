// sim/managed/proxy.cpp — One rank's stand-in on its fiber: receives what the process asks, plays it in the
// simulated world, and answers.
#include "sim/managed/proxy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/record/codes.h"
#include "results/record/event_names.h"
#include "sim/managed/managed_job.h"

namespace deadrank::sim::managed {

using nlohmann::json;

namespace {

constexpr Time long_wait{1'000'000'000};
constexpr Time poll_cost{1'000};  // so that a loop that only polls lets time pass

template <class Body>
Body head_of(const Request& request) {
    Body body;
    if (request.body.size() < sizeof body)
        throw HostTrouble("a rank sent a message that is too short for its kind",
                          "internal error: report it");
    std::memcpy(&body, request.body.data(), sizeof body);
    return body;
}

template <class Number>
std::vector<Number> numbers_behind(const Request& request, std::size_t head, std::size_t count) {
    std::vector<Number> numbers(count);
    if (request.body.size() < head + count * sizeof(Number))
        throw HostTrouble("a rank sent a message that is too short for its list",
                          "internal error: report it");
    std::memcpy(numbers.data(), request.body.data() + head, count * sizeof(Number));
    return numbers;
}

// A signal that a process does not get by a mistake of its own, but from a kernel without memory, a scheduler
// or a person.
bool is_sent_by_others(int number) {
    return number == SIGKILL || number == SIGTERM || number == SIGHUP || number == SIGINT ||
           number == SIGXCPU;
}

bool is_post(const Request& request) {
    switch (request.head.kind) {
        case Kind::collective:
        case Kind::message:
        case Kind::group_start:
        case Kind::group_end:
        case Kind::store_close:
        case Kind::record:
        case Kind::keep_signal:
        case Kind::exit:
        case Kind::stack:
        case Kind::forked:
        case Kind::back:
            return true;
        case Kind::step:
        case Kind::phase:
            return (request.head.flags & unanswered) != 0;
        default:
            return false;
    }
}

// Calls that a rank waits in, in a real job too. After all others it goes on alone.
bool takes_time(Kind kind) {
    switch (kind) {
        case Kind::wait:
        case Kind::poll:
        case Kind::store_open:
        case Kind::store:
        case Kind::comm_open:
        case Kind::comm_close:
        case Kind::compute:
            return true;
        default:
            return false;
    }
}

json text_of(const Request& request) {
    json body = json::parse(request.body, nullptr, false);
    if (!body.is_object())
        throw HostTrouble("a rank sent no JSON where it is due", "internal error: report it");
    return body;
}

// "torch.distributed.DistBackendError: NCCL error …" names its class; a text without one is a RuntimeError.
json exception_of(std::string_view text) {
    const std::size_t colon = text.find(": ");
    const std::string_view name = text.substr(0, colon);
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '.';
    });
    if (colon == std::string_view::npos || !is_name) return {{"type", "RuntimeError"}, {"text", text}};
    return {{"type", name}, {"text", text.substr(colon + 2)}};
}

std::string dumped(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

// What srun sets where the job has a SLURM_JOB_ID.
constexpr const char* slurm_names[] = {"SLURM_PROCID",        "SLURM_LOCALID",         "SLURM_NODEID",
                                       "SLURM_NTASKS",        "SLURM_NPROCS",          "SLURM_NNODES",
                                       "SLURM_JOB_NUM_NODES", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE",
                                       "SLURM_JOB_NODELIST",  "SLURM_NODELIST",        "SLURMD_NODENAME"};

// What torch's agent sets besides the variables that the simulated launcher has.
void name_agents_group(std::map<std::string, std::string>& variables, std::int64_t restarts_max) {
    const auto of = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    };
    if (of("TORCHELASTIC_RESTART_COUNT").empty()) return;
    const int rank = std::atoi(of("RANK").c_str()), size = std::atoi(of("WORLD_SIZE").c_str());
    const int per_node = std::max(1, std::atoi(of("LOCAL_WORLD_SIZE").c_str()));
    variables["GROUP_RANK"] = std::to_string(rank / per_node);
    variables["GROUP_WORLD_SIZE"] = std::to_string((size + per_node - 1) / per_node);
    variables["ROLE_RANK"] = of("RANK");
    variables["ROLE_WORLD_SIZE"] = of("WORLD_SIZE");
    variables["ROLE_NAME"] = "default";
    variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(restarts_max);
}

// The store keeps bytes, JSON text: each byte is one code point.
std::string to_json_text(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        const auto code = static_cast<unsigned char>(byte);
        if (code < 0x80) {
            text += byte;
        } else {
            text += static_cast<char>(0xc0 | code >> 6);
            text += static_cast<char>(0x80 | (code & 0x3f));
        }
    }
    return text;
}

std::string to_bytes(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = static_cast<unsigned char>(text[i]);
        if (code >= 0xc0 && i + 1 < text.size())
            bytes += static_cast<char>((code & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
        else
            bytes += text[i];
    }
    return bytes;
}

}  // namespace

Proxy::Proxy(ManagedJob& job, World& world)
    : job_(job), world_(world), unwinding_(std::uncaught_exceptions()) {
    process_ = std::make_unique<RankProcess>(
        job.zygote(), spec(), [this](bool error, std::string_view line) { print(error, line); });
    job.proxies[world.process()] = this;
}

// A rank that is killed while it waits says where it waits: its process can still answer that.
Proxy::~Proxy() {
    for (const auto& [number, blocks] : blocks_)
        for (const auto& [bytes, handle] : blocks) world_.device().release(handle);
    const auto mine = job_.proxies.find(world_.process());
    if (mine != job_.proxies.end() && mine->second == this) job_.proxies.erase(mine);
    if (std::uncaught_exceptions() > unwinding_ && !job_.stopped() &&
        world_.timer().now() - waits_since_ >= long_wait)
        show_stack();
    // How far a process came that was killed while it computed depends on the machine.
    if (runs_) process_->channel().mute();
    job_.note_waiting(*this);
    works_.clear();
}

void Proxy::show_stack() noexcept {
    if (!std::exchange(waits_, false)) return;  // once
    try {
        request_stack();
    } catch (const std::exception&) {  // it could not be had
    }
}

RankSpec Proxy::spec() const {
    RankSpec spec;
    const Program& program = job_.program();
    spec.argv = program.argv;
    spec.cwd = program.cwd;
    spec.environment = program.environment;
    for (const auto& [name, value] : world_.env().variables()) spec.environment[name] = value;
    name_agents_group(spec.environment, program.restarts_max);
    for (const char* name : slurm_names)
        if (const auto value = world_.env().get(name)) spec.environment[name] = *value;
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
        if (!world_.env().get(name)) spec.environment.erase(name);
    spec.process = world_.process();
    spec.seed = program.seed;
    spec.options = program.options;
    if (const auto source = program.sources.find(world_.process()); source != program.sources.end())
        spec.options["source"] = json(source->second).dump();
    spec.options["node"] = std::to_string(world_.node());
    spec.options["attempt"] = std::to_string(world_.attempt());
    return spec;
}

void Proxy::print(bool error, std::string_view line) {
    std::string shown = job_.shown(line);
    if (job_.program().print) job_.program().print(world_.process(), error, shown);
    printed_.emplace_back(error, std::move(shown));
}

// A process that has sent a post goes on, and prints earlier or later than the post is read. Once it waits,
// all that it has printed is there. Which of its two pipes was read first depends on the machine: what it wrote to
// stdout comes first.
void Proxy::log_printed() {
    auto printed = std::exchange(printed_, {});
    std::stable_partition(printed.begin(), printed.end(), [](const auto& one) { return !one.first; });
    for (const auto& [error, line] : printed) world_.log(line, levels_.of_next(line, error));
}

void Proxy::enter_files_of(pid_t pid) {
    process_->channel().reply(Status::enter, world_.timer().now().count(), dumped(json{{"process", pid}}));
}

// A signal that the program handles reaches the process before the reply does: its handler runs when the call
// returns, at the same place in every run.
void Proxy::respond(Status status, std::string_view body) {
    waits_ = false;
    reply_ = Reply{status,
                   world_.timer().now().count(),
                   std::string(body),
                   {},
                   yields_turn_ && job_.program().at_once > 1};
    while (const int number = world_.signals().take()) reply_->signals.push_back(number);
    if (yields_turn_) return job_.let_run(*this);
    send_reply();
}

void Proxy::send_reply() {
    const Reply reply = std::move(*std::exchange(reply_, std::nullopt));
    awaits_answer_ = false;
    runs_ = true;
    job_.note_running(*this);
    for (const int number : reply.signals) {
        job_.signals_sent.insert(number);
        process_->signal(number);
    }
    process_->channel().reply(reply.status, reply.now, reply.body, reply.beside_others ? beside_others : 0);
}

void Proxy::answer(std::string_view body) { respond(Status::answer, body); }

void Proxy::resume_process() {
    awaits_answer_ = false;
    runs_ = true;
    job_.note_running(*this);
    process_->channel().reply(Status::answer, world_.timer().now().count(), {});
}

void Proxy::answer(const json& body) { answer(std::string_view(dumped(body))); }

void Proxy::raise(const RankFailure& failure, std::optional<std::uint64_t> work) {
    const std::string text = failure.what();
    json body = text.empty() ? json{{"type", "SystemExit"}, {"text", std::to_string(failure.code)}}
                             : exception_of(text);
    if (work) body["work"] = *work;
    respond(Status::raise, dumped(body));
}

// The next message but for requests of the turn that this rank has.
std::optional<Request> Proxy::receive() {
    for (;;) {
        std::optional<Request> request =
            process_->channel().receive(job_.program().real_limit, [this] { return job_.stopped(); },
                                        {process_->pid(), world_.process()});
        if (!request || request->head.kind != Kind::turn) return request;
        process_->channel().reply(Status::answer, world_.timer().now().count(), {});
    }
}

void Proxy::run() {
    yields_turn_ = true;
    answer();  // go
    for (;;) {
        if (std::exchange(yields_turn_, false)) world_.timer().yield_turn();
        if (reply_) send_reply();
        std::optional<Request> request = receive();
        if (!request) end();
        if (request->head.flags & body_in_arena) {
            const auto [offset, size] = head_of<std::array<std::int64_t, 2>>(*request);
            const std::span<std::byte> body = process_->arena().at(offset, size);
            request->body.assign(reinterpret_cast<const char*>(body.data()), body.size());
        }
        const bool acknowledges = (request->head.flags & acknowledged) != 0;
        const bool is_held = (request->head.flags & held) != 0;
        awaits_answer_ = !is_post(*request) || acknowledges || is_held;
        yields_turn_ = takes_time(request->head.kind);
        if (awaits_answer_ || request->head.kind == Kind::exit) {
            runs_ = false;
            job_.note_waiting(*this);
        }
        spend(request->head.charge);
        if (!is_post(*request) || acknowledges) log_printed();
        play(*request);
        if (exit_) throw *exit_;
        if (acknowledges) answer();
        if (is_held) resume_process();
    }
}

void Proxy::spend(std::int64_t charge) {
    if (charge > 0) world_.device().compute(Time(charge));
}

void Proxy::play(const Request& request) {
    waits_ = !is_post(request);
    waits_since_ = world_.timer().now();
    failing_.reset();
    try {
        switch (request.head.kind) {
            case Kind::collective:
                return collective(request);
            case Kind::message:
                return message(request);
            case Kind::group_start:
                return comm(head_of<std::uint32_t>(request)).batch_start();
            case Kind::group_end:
                return comm(head_of<std::uint32_t>(request)).batch_end();
            case Kind::wait:
            case Kind::poll:
                return wait(request);
            case Kind::store_open:
                return open_store(text_of(request));
            case Kind::store:
                return use_store(text_of(request));
            case Kind::store_close:
                return world_.leave_store(store(text_of(request)));
            case Kind::comm_open:
                return open_comm(text_of(request));
            case Kind::comm_close:
                return close_comm(text_of(request));
            case Kind::comm_error:
                return record_comm_error(text_of(request));
            case Kind::record:
                job_.read_record(world_, request.body);
                return;
            case Kind::step:
                world_.step(head_of<std::int64_t>(request));
                return is_post(request) ? void() : answer();
            case Kind::phase:
                world_.phase(results::phase_named(request.body));
                return is_post(request) ? void() : answer();
            case Kind::seam: {
                const json body = text_of(request);
                return handle_seam(body);
            }
            case Kind::block:
                return answer(json{{"run", world_.block(text_of(request).value("name", ""))}});
            case Kind::storage:
                return use_storage(text_of(request));
            case Kind::device:
                return use_device(text_of(request));
            case Kind::compute:
                world_.device().compute(Time(std::max<std::int64_t>(0, head_of<std::int64_t>(request))));
                return answer();
            case Kind::keep_signal: {
                const json body = text_of(request);
                if (body.value("sent", false)) {
                    job_.signals_sent.insert(body.value("number", 0));
                    return;
                }
                return world_.signals().keep(body.value("number", 0), body.value("keep", false));
            }
            case Kind::exit:
                return leave(text_of(request));
            case Kind::stack:
            case Kind::forked:
            case Kind::turn:
                return;
            case Kind::back:
                return job_.go_back();
        }
        throw HostTrouble(
            fmt::format("a rank sent a message of unknown kind {}", static_cast<int>(request.head.kind)),
            "internal error: report it");
    } catch (const RankFailure& failure) {
        // Posts have no answer: what went wrong is raised where the rank waits for the work.
        if (!waits_) {
            failed_post_ = failure;
        } else {
            if (failing_) works_.erase(*failing_);
            raise(failure, failing_);
        }
    }
}

// With a scale the value is a fraction, of which that many parts are one.
void Proxy::handle_seam(const json& body) {
    const std::string name = body.value("name", "");
    const auto scale = body.value("scale", std::int64_t{0});
    if (scale <= 0) return answer(json{{"value", world_.seam(name, body.value("value", std::int64_t{0}))}});
    const double stated = body.value("value", 0.0);
    const auto parts = static_cast<std::int64_t>(std::llround(stated * static_cast<double>(scale)));
    const std::int64_t bent = world_.seam(name, parts);
    // What nothing bends stays as it is, to the last digit.
    answer(json{{"value", bent == parts ? stated : static_cast<double>(bent) / static_cast<double>(scale)}});
}

Comm& Proxy::comm(std::uint32_t id) {
    const auto found = comms_.find(id);
    if (found == comms_.end())
        throw HostTrouble(fmt::format("a rank named communicator {}, which it has not opened", id),
                          "internal error: report it");
    return *found->second;
}

Store& Proxy::store(const json& body) {
    const auto id = body.value("store", std::size_t{0});
    if (id >= stores_.size())
        throw HostTrouble(fmt::format("a rank named store {}, which it has not opened", id),
                          "internal error: report it");
    return *stores_[id];
}

void Proxy::collective(const Request& request) {
    const auto body = head_of<CollectiveBody>(request);
    Comm& group = comm(body.comm);
    ByteCall call;
    call.op = static_cast<results::Op>(body.op);
    call.dtype = static_cast<Dtype>(body.dtype);
    call.reduce = static_cast<ReduceOp>(body.reduce);
    call.root = body.root;
    call.count = body.count;
    call.in = process_->arena().at(body.in_offset, body.in_size);
    call.out = process_->arena().at(body.out_offset, body.out_size);
    if (body.flags & 1) {
        const auto parts =
            numbers_behind<std::int64_t>(request, sizeof body, 2 * static_cast<std::size_t>(group.size()));
        for (std::size_t i = 0; i < parts.size(); i += 2) {
            call.sent.push_back(parts[i]);
            call.received.push_back(parts[i + 1]);
        }
    }
    works_[body.work] = {group.collective(call), body.comm};
}

void Proxy::message(const Request& request) {
    const auto body = head_of<MessageBody>(request);
    Comm& group = comm(body.comm);
    const std::span<std::byte> memory = process_->arena().at(body.offset, body.size);
    const auto dtype = static_cast<Dtype>(body.dtype);
    works_[body.work] = {body.is_send ? group.send_bytes(memory, body.peer, body.tag, dtype)
                                      : group.recv_bytes(memory, body.peer, body.tag, dtype),
                         body.comm, true};
}

Time Proxy::until(std::int64_t deadline) const {
    if (deadline < 0) return results::never;
    return std::max(Time{0}, Time(deadline) - world_.timer().now());
}

bool Proxy::is_over(UnderWay& call) { return !call.work || call.work->wait_for(Time{0}, {}); }

void Proxy::wait(const Request& request) {
    const auto body = head_of<WaitBody>(request);
    const auto ids = numbers_behind<std::uint64_t>(request, sizeof body, body.count);
    if (failed_post_) {
        const RankFailure failure = *std::exchange(failed_post_, std::nullopt);
        for (const std::uint64_t id : ids) works_.erase(id);
        return raise(failure);
    }
    for (const std::uint64_t id : ids)
        if (!works_.contains(id))
            throw HostTrouble(fmt::format("a rank waits for work {}, which it has not posted", id),
                              "internal error: report it");
    const Time began = world_.timer().now();
    if (request.head.kind == Kind::poll) {
        world_.timer().sleep(poll_cost);
    } else if (ids.empty()) {
        const Time patience = until(body.deadline);
        if (patience == results::never)
            throw RankFailure("RuntimeError: deadlock: every thread of this process waits for another one");
        world_.timer().sleep(patience);
    } else if (body.any) {
        wait_for_any(ids, Time(body.deadline));
    } else {
        wait_for_all(ids, Time(body.deadline));
    }
    // Without a deadline a stream waits, and the host goes on.
    if (request.head.kind == Kind::wait && body.deadline >= 0) record_message_wait(ids, began);
    answer_wait(ids);
}

// Recorded before the ends of the messages, which would hide when the rank began to wait.
void Proxy::record_message_wait(const std::vector<std::uint64_t>& ids, Time began) {
    const Time waited = world_.timer().now() - began;
    const bool for_messages = std::any_of(ids.begin(), ids.end(), [&](std::uint64_t id) {
        return works_[id].is_message;
    });
    if (waited <= Time{0} || !for_messages) return;
    world_.record(results::ValueSample{
        -1, world_.text(scenarios::enum_name(results::SampleName::message_wait)),
        std::chrono::duration<double>(waited).count(), std::numeric_limits<double>::quiet_NaN()});
}

void Proxy::wait_for_all(const std::vector<std::uint64_t>& ids, Time deadline) {
    for (const std::uint64_t id : ids) {
        const auto& work = works_[id].work;
        if (!work) continue;
        failing_ = id;
        if (deadline.count() < 0) {
            work->wait();
        } else if (!work->wait_for(until(deadline.count()), {})) {
            return;
        }
    }
    failing_.reset();
}

void Proxy::wait_for_any(const std::vector<std::uint64_t>& ids, Time deadline) {
    const auto any_over = [&] {
        return std::any_of(ids.begin(), ids.end(), [&](std::uint64_t id) { return is_over(works_[id]); });
    };
    if (any_over()) return;
    works_[ids.front()].work->wait_for(until(deadline.count()), any_over);
}

// A failed one throws here: the whole wait is answered by what it raises.
void Proxy::answer_wait(const std::vector<std::uint64_t>& ids) {
    std::vector<WaitAnswer> states;
    for (const std::uint64_t id : ids) {
        UnderWay& call = works_[id];
        WaitAnswer state{};
        if (is_over(call)) {
            state.source = -1;
            if (call.work) {
                const std::unique_ptr<Work> over = std::move(works_[id].work);
                works_.erase(id);
                failing_ = id;
                over->wait();
                failing_.reset();
                state.source = over->source();
            } else {
                works_.erase(id);
            }
            state.done = 1;
        }
        states.push_back(state);
    }
    answer(
        std::string_view(reinterpret_cast<const char*>(states.data()), states.size() * sizeof(WaitAnswer)));
}

void Proxy::open_store(const json& body) {
    const Time timeout(body.value("timeout", std::int64_t{300'000'000'000}));
    Store* opened = nullptr;
    if (body.contains("file")) {
        files_.insert(stores_.size());
        opened = &world_.file_store(body["file"].get<std::string>(), body.value("world", 1));
    } else {
        const std::string endpoint = body.value("endpoint", "");
        const bool host = body.value("host", false);
        opened = body.value("own", false) ? &world_.own_store(endpoint, host, timeout)
                                          : &world_.rendezvous(endpoint, host, timeout);
    }
    stores_.push_back(opened);
    answer(json{{"store", stores_.size() - 1}});
}

void Proxy::use_store(const json& body) {
    Store& used = store(body);
    const std::string op = body.value("op", "");
    const std::string key = to_bytes(body.value("key", ""));
    const auto text = [&](const char* name) { return to_bytes(body.value(name, "")); };
    const auto found = [&](const std::optional<std::string>& value) {
        return value ? json{{"value", to_json_text(*value)}, {"found", true}} : json{{"found", false}};
    };
    if (op == "set") {
        used.set(key, text("value"));
        answer(json::object());
    } else if (op == "wait" || op == "get") {
        const Time patience(body.value("timeout", std::int64_t{300'000'000'000}));
        const auto value = used.wait(key, patience);
        if (!value)
            throw LibraryError(
                Code::timeout,
                fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                            patience.count() / 1'000'000, key));
        answer(found(value));
    } else if (op == "check") {
        answer(found(used.wait(key, Time{0})));
    } else if (op == "add") {
        answer(json{{"value", used.add(key, body.value("amount", std::int64_t{0}))}});
    } else if (op == "set_once") {
        answer(json{{"value", to_json_text(used.set_once(key, text("value")))}});
    } else if (op == "compare_set") {
        answer(json{{"value", to_json_text(used.compare_set(key, text("expected"), text("value")))}});
    } else if (op == "delete") {
        answer(json{{"found", used.erase(key)}});
    } else if (op == "count") {
        answer(json{{"value", used.count()}});
    } else if (op == "append") {
        const auto before = used.wait(key, Time{0});
        used.set(key, before.value_or("") + text("value"));
        answer(json::object());
    } else {
        throw HostTrouble(fmt::format("a rank asked the store for '{}'", op), "internal error: report it");
    }
}

// The id of the communicator to come goes through the store. One that an earlier attempt or run has left in a
// file leads to a root that is gone, and a rank that finds it does not wait for the next.
void Proxy::exchange_id(Store& store, const CommRequest& request) {
    constexpr Time root_opens{20'000'000}, all_tries{59'500'000'000};
    const std::string own = std::to_string(world_.attempt());
    const std::string key =
        request.name == results::GroupName::world ? "unique_id" : "unique_id/" + request.name;
    if (request.members.empty() || request.rank == request.members[0]) {
        world_.timer().sleep(root_opens);
        return store.set(key, own);
    }
    const auto found = store.wait(key, request.timeout);
    if (found == own) return;
    if (!found)
        throw LibraryError(Code::timeout,
                           fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                                       request.timeout.count() / 1'000'000, key));
    world_.timer().sleep(all_tries);
    throw LibraryError(Code::system_error,
                       "torch.distributed.DistBackendError: NCCL error: ncclSystemError\nLast error:\n"
                       "ncclSocketConnect: connect to the root of a ncclUniqueId of another round returned "
                       "Connection refused, exceeded error retry count after 35 attempts");
}

void Proxy::open_comm(const json& body) {
    CommRequest request;
    request.name = body.value("name", "world");
    request.members = Members(body.at("members").get<std::vector<Rank>>());
    request.rank = body.value("rank", 0);
    request.timeout = Time(body.value("timeout", std::int64_t{0}));
    request.store_timeout = Time(body.value("store_timeout", std::int64_t{0}));
    request.library = body.value("library", "") == "gloo" ? CommLibrary::gloo : CommLibrary::nccl;
    if (body.contains("store")) {
        request.meeting = store(body).meeting();
        if (request.library == CommLibrary::nccl && files_.contains(body["store"].get<std::size_t>()))
            exchange_id(store(body), request);
    }
    std::unique_ptr<Comm> opened = world_.communicator(request);
    const std::uint32_t id = next_comm_++;
    comms_[id] = std::move(opened);
    answer(json{{"comm", id}});
}

void Proxy::close_comm(const json& body) {
    const auto id = body.value("comm", std::uint32_t{0});
    Comm& group = comm(id);
    const std::string how = body.value("how", "drop");
    if (how == "abort") {
        group.abort();
    } else {
        if (how == "destroy") group.destroy();
        std::erase_if(works_, [&](const auto& entry) { return entry.second.comm == id; });
        comms_.erase(id);
    }
    answer();
}

void Proxy::record_comm_error(const json& body) {
    answer(json{{"code", results::name_of(comm(body.value("comm", std::uint32_t{0})).async_error())}});
}

// Contents are real files of this machine; the simulated storage has their sizes, costs and troubles.
void Proxy::use_storage(const json& body) {
    const std::string op = body.value("op", ""), path = job_.shown(body.value("path", ""));
    Storage& storage = world_.storage();
    json said = json::object();
    Code code = Code::ok;
    if (op == "write") {
        code = write_file(storage, path, body.value("bytes", std::int64_t{0}), said);
    } else if (op == "sync") {
        code = storage.sync(path);
    } else if (op == "rename") {
        const std::string to = job_.shown(body.value("to", ""));
        code = storage.rename(path, to);
        if (auto moved = job_.files.extract(path)) {
            moved.key() = to;
            job_.files.erase(to);
            job_.files.insert(std::move(moved));
        }
    } else if (op == "remove") {
        code = storage.remove(path);
    } else if (op == "read") {
        code = read_file(storage, path, said);
    } else if (op == "saved") {
        for (const std::string& key : {"path " + path, "digest " + body.value("digest", "")})
            job_.steps_after[key] = body.value("following", std::int64_t{0});
    } else if (op == "loaded") {
        for (const std::string& key : {"digest " + body.value("digest", ""), "path " + path})
            if (const auto known = job_.steps_after.find(key); known != job_.steps_after.end())
                said["following"] = known->second;
    } else {
        throw HostTrouble(fmt::format("a rank asked the storage for '{}'", op), "internal error: report it");
    }
    said["code"] = results::name_of(code);
    answer(said);
}

Code Proxy::write_file(Storage& storage, const std::string& path, std::int64_t bytes, json& said) {
    constexpr std::int64_t numbers_max = 1 << 16;
    job_.sizes.push_back(static_cast<std::size_t>(std::clamp((bytes + 7) / 8, std::int64_t{1}, numbers_max)));
    const auto version = static_cast<Number>(job_.sizes.size());
    const Code code = storage.write(path, std::vector<Number>(job_.sizes.back(), version));
    job_.files[path] = version;  // not by a rank that is killed while it writes
    const auto found = storage.list(path);
    said = {{"version", version}, {"there", !found.empty() && found.front() == path}};
    return code;
}

Code Proxy::read_file(Storage& storage, const std::string& path, json& said) {
    std::vector<Number> content;
    const Code code = storage.read(path, content);
    const auto latest = job_.files.find(path);
    if (latest == job_.files.end()) return code == Code::not_found ? Code::ok : code;
    if (code != Code::ok) return code;
    if (const auto spoilt = job_.find_spoilt(&content, latest->second))
        said = {{"version", spoilt->version}, {"kept", spoilt->kept}, {"of", spoilt->of}, {"flips", spoilt->flips}};
    return code;
}

// The first device that a process takes memory of is the one that it uses, until it opens a communicator.
bool Proxy::take_memory(int number, std::int64_t bytes) {
    Device& device = world_.device();
    const int index = device.seen(number);
    if (index < 0) return true;  // the machine of the simulation has no such device
    if (blocks_.find(number) == blocks_.end()) {
        world_.record(results::DeviceBind{world_.text(blocks_.empty() ? "model" : "memory"), index});
        if (blocks_.empty()) device.choose(number);
    }
    auto& blocks = blocks_[number];
    try {
        blocks.emplace(bytes, device.allocate_on(index, bytes));
    } catch (const OutOfMemory&) {
        return false;
    }
    return true;
}

void Proxy::give_back_memory(int number, std::int64_t bytes) {
    auto& blocks = blocks_[number];
    const auto found = blocks.find(bytes);
    if (found == blocks.end()) return;
    world_.device().release(found->second);
    blocks.erase(found);
}

void Proxy::use_device(const json& body) {
    const std::string op = body.value("op", "");
    Device& device = world_.device();
    if (op == "take") {
        answer(json{{"room", take_memory(body.value("device", 0), body.value("bytes", std::int64_t{0}))}});
    } else if (op == "give_back") {
        give_back_memory(body.value("device", 0), body.value("bytes", std::int64_t{0}));
        answer();
    } else if (op == "left") {
        const int index = device.seen(body.value("device", 0));
        answer(json{{"bytes", index < 0 ? -1 : device.free_on(index)}});
    } else if (op == "use") {
        if (const int number = body.value("device", 0); device.seen(number) >= 0) device.choose(number);
        answer();
    } else {
        throw HostTrouble(fmt::format("a rank asked its device for '{}'", op), "internal error: report it");
    }
}

// The process has nothing left to do but to end, for which nobody waits before the run is over.
void Proxy::leave(const json& body) {
    if (const std::string refused = body.value("refused", ""); !refused.empty())
        throw HostTrouble(
            fmt::format("this machine refused what rank {} wrote: {}", world_.process(), refused),
            "free space there, or set TMPDIR to another file system");
    if (const std::string limit = body.value("limit", ""); !limit.empty()) {
        log_printed();
        const std::size_t sentence = std::min(limit.find(". "), limit.size());
        throw HostTrouble(
            fmt::format("rank {} cannot go on: {}", world_.process(), limit.substr(0, sentence)),
            sentence < limit.size() ? limit.substr(sentence + 2) : "");
    }
    job_.ending.push_back(process_->leave());
    log_printed();
    works_.clear();
    exit_.emplace(body.value("error", ""), body.value("code", 1));
    exit_->told = true;  // its traceback came through the pipe
}

void Proxy::request_stack() {
    using namespace std::chrono_literals;
    process_->channel().reply(Status::query, world_.timer().now().count(), "stack");
    const auto request = process_->channel().receive(2000ms);
    if (!request || request->head.kind != Kind::stack) return;
    const json frames = json::parse(request->body, nullptr, false);
    if (!frames.is_array() || frames.empty()) return;
    std::string text = "Current thread (most recent call last):";
    for (const json& frame : frames)
        if (frame.is_array() && frame.size() >= 4)
            text +=
                fmt::format("\n  File \"{}\", line {}, in {}\n    {}", frame[0].get<std::string>(),
                            frame[1].get<int>(), frame[2].get<std::string>(), frame[3].get<std::string>());
    world_.log(text, 1);
}

void Proxy::end() {
    const ProcessEnding ending = process_->wait();
    log_printed();
    works_.clear();
    if (is_sent_by_others(ending.signal) && !job_.signals_sent.contains(ending.signal))
        throw HostTrouble(
            fmt::format("rank {} was ended by {}, which neither the simulation nor the program sent",
                        world_.process(), results::signal_name(ending.signal)),
            "see whether this machine lacks memory (`dmesg`), play fewer ranks, or run it again");
    if (ending.signal != 0) throw RankKilled{ending.signal};
    RankFailure failure("", ending.code);
    failure.told = true;
    throw failure;
}

}  // namespace deadrank::sim::managed
