// sim/workloads/program_workload.cpp — Ranks run what the scenario says: a program in a strict part of
// Python, within the start-up, steps and evidence of every other job.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "scenarios/program/argument_words.h"
#include "scenarios/program/program_kind.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"
#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

using program::Part;
using scenarios::Values;
using scenarios::ValueType;

enum class Start { job, own };

// A program and its settings, ready for every rank of a run.
struct Prepared {
    scenarios::program::Program program;
    std::vector<std::pair<std::string, scenarios::Value>> lets;
    std::string mistake;  // what Python would say before anything runs; empty where there is none
};

std::shared_ptr<const Prepared> prepare(const Values& plan) {
    auto prepared = std::make_shared<Prepared>();
    std::vector<scenarios::program::Mistake> mistakes;
    prepared->program = scenarios::program::read_program(scenarios::program::source_of(plan), mistakes);
    if (!mistakes.empty())
        prepared->mistake = fmt::format("SyntaxError: {}: {}",
                                        scenarios::program::place_text(mistakes[0].spot), mistakes[0].what);
    const std::string prefix = scenarios::program::let_prefix;
    for (const auto& [name, value] : plan)
        if (name.starts_with(prefix)) prepared->lets.emplace_back(name.substr(prefix.size()), value);
    scenarios::program::Program& program = prepared->program;
    for (const auto& [name, value] : prepared->lets) {
        const bool device = value.text != "cpu" && scenarios::program::is_device_word(value.text);
        if (!program.moves_tensors || !device || program.places_tensors) continue;
        program.places_tensors = true;
        program.places_since.line = 0;  // no line of a text
    }
    return prepared;
}

struct ProgramSettings : JobSettings {
    explicit ProgramSettings(Source source) : JobSettings(source) {
        if (source.plan) prepared = prepare(*source.plan);
        if (!source.rows) return;
        for (const auto& [name, what] :
             {std::pair{"setup", "what each rank does once, before its first step"},
              std::pair{"step", "what each rank does in a step; names of setup are known there"},
              std::pair{"finish", "what each rank does after its last step"},
              std::pair{"earlier",
                        "what each rank of a job that came before did: its files are there when this "
                        "one begins. It makes no calls, and shares functions alone"}})
            source.rows->push_back({.name = name, .type = ValueType::text, .what = what, .optional = true});
    }

    Start start =
        choice<Start>("start", "",
                      "ranks start up as those of every job do, before setup; or setup begins at once, "
                      "and calls init_process_group() when it likes. Absent = job",
                      {"job", "own"});
    std::int64_t statements = integer("statements", "1000000",
                                      "statements of a rank in all, and one for each 16 elements of tensors; "
                                      "one more ends it as a loop without an "
                                      "end",
                                      1);
    std::int64_t earlier_ranks = integer(
        "earlier_ranks", "0", "how many ranks the job before had; 0 = as many as this one", 0, "earlier");
    std::int64_t element_size = bytes(
        "element_size", "0MiB",
        "memory that an element of a float32 tensor stands for, one of another type as its bytes say; 0 = "
        "tensors take none");
    std::int64_t communicator_size =
        bytes("communicator_size", "0MiB",
              "device memory that a communicator of NCCL takes with its first call, until it is destroyed");
    std::shared_ptr<const Prepared> prepared;
};

constexpr std::string_view own_settings[] = {"steps",
                                             "store_timeout",
                                             "validate",
                                             "place_from",
                                             "discover_mpi",
                                             "exit_barrier",
                                             "lenient_environment",
                                             "own_group_file",
                                             "expected_step_time",
                                             "context_size",
                                             "start",
                                             "statements",
                                             "setup",
                                             "step",
                                             "finish",
                                             "earlier",
                                             "earlier_ranks",
                                             "element_size",
                                             "communicator_size"};

std::vector<std::string_view> ignored() {
    static const std::vector<scenarios::Parameter> rows = [] {
        std::vector<scenarios::Parameter> all;
        ProgramSettings{Settings::Source(all)};
        return all;
    }();
    std::vector<std::string_view> names;
    for (const scenarios::Parameter& row : rows)
        if (std::find(std::begin(own_settings), std::end(own_settings), row.name) == std::end(own_settings))
            names.push_back(row.name);
    return names;
}

// What `let` holds, as the program reads it: a text that begins with a bracket is a list or a dict.
program::Value let_value(const scenarios::Value& value) {
    using program::Value;
    constexpr std::int64_t billion = 1'000'000'000;
    switch (value.type) {
        case ValueType::boolean:
            return Value::boolean(value.number != 0);
        case ValueType::integer:
            return Value::whole(value.number);
        case ValueType::ratio: {
            const Wide scaled_up = Wide{value.number} * one * 2 / billion;
            return Value::decimal(saturate((scaled_up + (scaled_up < 0 ? -1 : 1)) / 2));
        }
        default:
            break;
    }
    const bool bracket = value.text.starts_with('[') || value.text.starts_with('{');
    if (const auto parsed = bracket ? scenarios::program::parse_literal(value.text) : std::nullopt)
        return program::literal(*parsed);
    return Value::new_text(value.text);
}

// As torch's rendezvous handlers read an address. Texts: torch.distributed.rendezvous 2.11.
Meeting meeting_of(const program::StartRequest& request) {
    Meeting meeting{
        .rank = request.rank, .size = request.size, .timeout = request.timeout, .library = request.library};
    const std::string& method = request.method;
    if (request.store) {
        meeting.store = request.store;
        meeting.endpoint = method;
        return meeting;
    }
    if (method.empty() || method == "env://") return meeting;
    const bool tcp = method.starts_with("tcp://"), file = method.starts_with("file://");
    if (!tcp && !file) program::raise("RuntimeError", fmt::format("No rendezvous handler for {}", method));
    const auto refuse = [&](std::string_view what) {
        program::raise("ValueError",
                       fmt::format("Error initializing torch.distributed using {}:// rendezvous: {} missing",
                                   tcp ? "tcp" : "file", what));
    };
    std::string rest = method.substr(tcp ? 6 : 7);
    while (file && rest.starts_with('/')) rest.erase(0, 1);
    if (file && rest.empty()) refuse("path");
    if (tcp && rest.find(':') == std::string::npos) refuse("port number");
    if (!request.rank) refuse("rank parameter");
    if (!request.size) refuse("world size parameter");
    (tcp ? meeting.endpoint : meeting.file) = rest;
    return meeting;
}

class JobHost final : public program::Host {
public:
    JobHost(Job& job, const ProgramSettings& settings) : job_(job), settings_(settings) {}

    World& world() override { return job_.world(); }
    Rank rank() const override { return in_world() ? job_.rank() : job_.world().process(); }
    Rank size() const override { return in_world() ? job_.size() : job_.world().processes(); }
    std::int64_t steps() const override { return settings_.steps; }
    std::int64_t context_size() const override { return settings_.context_size; }
    std::int64_t element_size() const override { return settings_.element_size; }
    std::int64_t communicator_size() const override { return settings_.communicator_size; }
    void begin_at(std::int64_t step) override { job_.begin_at(step); }
    void stop() override { job_.stop(); }
    void start(const program::StartRequest& request) override {
        if (started()) {
            const std::string torch = job_.world().env().version("torch");
            const bool old = torch.starts_with("1.") || torch.starts_with("2.0");
            program::raise(old ? "RuntimeError" : "ValueError",
                           "trying to initialize the default process group twice!");
        }
        Meeting meeting = meeting_of(request);
        const bool nccl = request.library != CommLibrary::gloo;
        meeting.with_first_call = nccl && request.with_first_call;
        if (std::exchange(left_, false))
            job_.end_world();
        else if (own_store_)
            job_.take_store(*own_store_);
        library_ = request.library;
        started_ = true;
        Starting guard{*this};
        job_.start(meeting);
        guard.done = true;
    }
    bool started() const override { return started_ && !left_; }
    bool unconnected() const override { return job_.unconnected(); }
    void leave(bool waits) override {
        if (!job_.unconnected()) {
            Comm& world = comm();
            if (waits) world.destroy();
        }
        left_ = true;
        job_.leave_world();
    }
    Comm& comm() override {
        if (left_)
            program::raise("ValueError",
                           "Default process group has not been initialized, please make sure to call "
                           "init_process_group.");
        return job_.comm();
    }
    std::unique_ptr<Comm> new_group(const std::string& name, const std::vector<Rank>& ranks, Time timeout,
                                    CommLibrary library) override {
        return job_.new_group(name, ranks, timeout, library == CommLibrary::usual ? library_ : library);
    }
    Store& store() override {
        if (started_) return job_.store();
        if (!own_store_) {
            const auto address = world().env().get("MASTER_ADDR"), port = world().env().get("MASTER_PORT");
            if (!address || !port) program::raise("KeyError", address ? "'MASTER_PORT'" : "'MASTER_ADDR'");
            const bool hosts = world().env().get("RANK").value_or("0") == "0";
            own_store_ = &world().rendezvous(*address + ":" + *port, hosts, settings_.store_timeout);
        }
        return *own_store_;
    }

private:
    // Without a world there may be another try.
    struct Starting {
        JobHost& host;
        bool done = false;
        ~Starting() {
            if (done) return;
            host.started_ = false;
            host.own_store_ = nullptr;
            host.job_.leave_world();
            host.job_.end_world();
        }
    };

    // What `rank` and `world_size` are of. A world of all ranks is the same as the launch once it is left.
    bool in_world() const { return started_ && (!left_ || job_.size() == job_.world().processes()); }

    Job& job_;
    const ProgramSettings& settings_;
    Store* own_store_ = nullptr;
    bool started_ = false, left_ = false;
    CommLibrary library_ = CommLibrary::usual;  // of the world, and of groups that say none
};

// A rank of the job that came before: it has files, a clock and chance, and nobody to call.
class EarlierHost final : public program::Host {
public:
    EarlierHost(World& world, Rank rank, Rank size, std::int64_t steps)
        : world_(world), rank_(rank), size_(size), steps_(steps) {}

    World& world() override { return world_; }
    Rank rank() const override { return rank_; }
    Rank size() const override { return size_; }
    std::int64_t steps() const override { return steps_; }
    void begin_at(std::int64_t) override { refuse(); }
    void stop() override { refuse(); }
    // A rank that was killed leaves the file behind that it met the others at; that is all that is left.
    void start(const program::StartRequest& request) override {
        const Meeting meeting = meeting_of(request);
        if (meeting.file.empty()) refuse();
        const Number size[] = {*meeting.size};
        world_.storage().write(meeting.file, size);
    }
    bool started() const override { return false; }
    void leave(bool) override { refuse(); }
    Comm& comm() override { refuse(); }
    std::unique_ptr<Comm> new_group(const std::string&, const std::vector<Rank>&, Time,
                                    CommLibrary) override {
        refuse();
    }
    Store& store() override { refuse(); }
    bool over() const override { return true; }

private:
    [[noreturn]] static void refuse() {
        program::raise("RuntimeError", "the job that came before is over: only what it saves is left");
    }

    World& world_;
    Rank rank_, size_;
    std::int64_t steps_;
};

// Each rank plays the one of its number, and rank 0 those that this job has no rank for.
void play_earlier(World& world, const ProgramSettings& settings) {
    const Prepared& prepared = *settings.prepared;
    if (prepared.program.earlier.empty() || world.attempt() > 0) return;
    const Rank own = world.process(), here = world.processes();
    const auto all = settings.earlier_ranks > 0 ? static_cast<Rank>(settings.earlier_ranks) : here;
    std::vector<Rank> played;
    if (own < all) played.push_back(own);
    for (Rank rank = here; own == 0 && rank < all; ++rank) played.push_back(rank);
    for (const Rank rank : played) {
        EarlierHost host(world, rank, all, settings.steps);
        program::Interpreter interpreter(prepared.program, host, settings.statements);
        for (const auto& [name, value] : prepared.lets) interpreter.let(name, let_value(value));
        interpreter.run(Part::earlier, 0);
    }
}

// What atexit was given runs at the end, also after an exception or exit(). Python tells the exception first;
// nothing of the program runs while it is handled here.
void run_to_the_end(program::Interpreter& interpreter, Job& job, std::int64_t steps) {
    const auto play = [&](Part part, std::int64_t step) {
        try {
            interpreter.run(part, step);
        } catch (const RankFailure& failure) {
            if (failure.what() != program::stop_word) throw;
        }
    };
    std::optional<RankFailure> failed;
    try {
        play(Part::setup, 0);
        job.train([&](std::int64_t step) {
            play(Part::step, step);
            return StepResult{interpreter.loss, interpreter.gradient_norm};
        });
        play(Part::finish, steps);
    } catch (const RankFailure& failure) {
        if (!interpreter.runs_at_exit()) throw;
        failed = failure;
    }
    if (failed && failed->code != 0) {
        job.world().log(std::string("Traceback (most recent call last):\n") + failed->what(), 2);
        failed->told = true;
    }
    interpreter.run_at_exit();
    if (failed) throw RankFailure(*failed);
}

void program_rank(World& world, const ProgramSettings& settings) {
    const Prepared& prepared = *settings.prepared;
    if (prepared.program.interrupts) world.signals().keep(program::interrupt_signal, true);
    Job job(world, settings);
    job.hide_recipe();
    JobHost host(job, settings);
    const bool chooses = prepared.program.chooses_device || prepared.program.places_tensors;
    if (settings.start == Start::own && chooses) world.device().begin_at_first();
    if (prepared.mistake.empty()) play_earlier(world, settings);
    if (settings.start == Start::job) host.start({});
    if (!prepared.mistake.empty()) throw RankFailure(prepared.mistake);
    program::Interpreter interpreter(prepared.program, host, settings.statements);
    for (const auto& [name, value] : prepared.lets) interpreter.let(name, let_value(value));
    if (settings.start == Start::job)
        interpreter.world_place = static_cast<program::Place>(world.device().number());
    run_to_the_end(interpreter, job, settings.steps);
}

scenarios::Kind program_words() {
    scenarios::Kind kind =
        job_words(std::string(scenarios::program::kind_name),
                  "what each rank does is written in the scenario, in a strict part of Python");
    leave_out(kind, {""},
              {"startup.rank", "startup.world_size", "startup.device", "context.device", "sampler.steps",
               "startup.init_process_group", "store.host"});
    kind.phases.clear();
    kind.own_words = true;
    kind.resizes = true;  // it restores what it likes
    return kind;
}

}  // namespace

extern const WorkloadRow program_row{[] { return workload(program_words(), program_rank, ignored()); }};

}  // namespace deadrank::sim
