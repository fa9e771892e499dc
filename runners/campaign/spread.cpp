// runners/campaign/spread.cpp — Hands out seeds to workers, on this machine or over the ranks of mpirun.
#include "runners/campaign/spread.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "runners/campaign/mpi_bridge/mpi_bridge.h"

namespace deadrank::runners::campaign {

// ── MPI is loaded with RTLD_GLOBAL: its plugins are libraries that look for its symbols.

namespace fs = std::filesystem;

namespace {

class MpiPeers final : public Peers {
public:
    MpiPeers(const MpiBridge& bridge, int rank, int size) : bridge_(bridge), rank_(rank), size_(size) {}
    ~MpiPeers() override { bridge_.end(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void send(int to, const std::string& text) override { bridge_.send(to, text.data(), text.size()); }
    std::optional<Message> receive() override {
        Message message;
        const char* text = nullptr;
        const std::size_t length = bridge_.receive(&message.from, &text);
        if (length == 0) return std::nullopt;
        message.text.assign(text, length);
        return message;
    }

private:
    const MpiBridge& bridge_;
    int rank_, size_;
};

tl::unexpected<scenarios::Error> cannot(const std::string& why) {
    return scenarios::refuse(scenarios::ErrorCode::environment,
                             fmt::format("MPI could not be joined: {}", why),
                             "start it without mpirun, or install the MPI that this build was made with");
}

}  // namespace

Started detect_launcher() {
    struct Names {
        const char *rank, *size;
    };
    // Open MPI, then launchers that use PMI or PMIx (srun --mpi=…, MPICH).
    constexpr std::array<Names, 3> launchers = {
        {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"PMIX_RANK", ""}}};
    for (const Names& names : launchers) {
        const char* rank = std::getenv(names.rank);
        if (!rank) continue;
        const char* size = std::getenv(names.size);
        return {!size || std::atoi(size) > 1, std::atoi(rank)};
    }
    return {};
}

fs::path find_mpi_bridge(const fs::path& executable) {
    const fs::path beside = executable.parent_path();
    std::error_code ignored;
    for (const char* place : {"", "../lib/deadrank", "../lib/x86_64-linux-gnu/deadrank",
                              "../lib/aarch64-linux-gnu/deadrank", "../lib64/deadrank"}) {
        const fs::path library = beside / place / "deadrank_mpi_bridge.so";
        if (fs::exists(library, ignored)) return library;
    }
    return {};
}

scenarios::Result<std::unique_ptr<Peers>> join_peers(const fs::path& library) {
    void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!opened) return cannot(dlerror());
    using Open = const MpiBridge* (*)();
    const auto open = reinterpret_cast<Open>(dlsym(opened, "deadrank_mpi_bridge_table"));
    if (!open) return cannot(fmt::format("{} is not ours", library.string()));
    int rank = 0, size = 1;
    if (!open()->begin(&rank, &size)) return cannot("it did not begin");
    return std::make_unique<MpiPeers>(*open(), rank, size);
}

// ── The manager plays too, so no core idles. A worker holds one trial more than it plays, so that it never
// waits for the next.

using nlohmann::json;
using scenarios::Result;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds look_every{1};

std::string ended_text(const Ended& ended) {
    return json{ended.number, ended.answer, ended.code, ended.signal, ended.over_budget, ended.seconds}.dump(
        -1, ' ', false, json::error_handler_t::replace);
}

Ended ended_from(const json& fields) {
    return {fields[0].get<std::uint64_t>(), fields[1].get<std::string>(), fields[2].get<int>(),
            fields[3].get<int>(),           fields[4].get<bool>(),        fields[5].get<double>()};
}

class Manager {
public:
    Manager(const Work& work, const std::vector<std::uint64_t>& numbers, Peers* peers,
            const std::function<Result<void>(const Ended&, int)>& take)
        : work_(work), numbers_(numbers), peers_(peers), take_(take), children_(work.budget) {}

    Result<void> run() {
        Result<void> well;
        while (well && answered_ < numbers_.size() && !stopped()) well = once();
        children_.end_all();
        if (peers_) dismiss();
        return well;
    }

private:
    bool stopped() const { return work_.stop && work_.stop->load(); }
    bool left() const { return next_ < numbers_.size(); }

    Result<void> once() {
        while (left() && children_.running() < static_cast<std::size_t>(work_.slots)) {
            const std::uint64_t number = numbers_[next_++];
            auto started = children_.start(number, [&] { return work_.play(number); });
            if (!started) return started;
        }
        for (auto message = peers_ ? peers_->receive() : std::nullopt; message; message = peers_->receive()) {
            if (auto heard = handle_message(*message); !heard) return heard;
        }
        for (const Ended& ended : children_.wait(peers_ ? look_every : milliseconds(100))) {
            if (auto taken = answer(ended, 0); !taken) return taken;
        }
        return work_.look ? work_.look() : Result<void>();
    }

    // "hello DEFINITION", "more", or an answer, which also asks for more.
    Result<void> handle_message(const Message& message) {
        if (message.text.starts_with("hello ")) {
            if (message.text.substr(6) == work_.definition) return {};
            return scenarios::refuse(
                scenarios::ErrorCode::environment,
                fmt::format("rank {} was started with other scenarios, options or another build",
                            message.from),
                "all machines need the same deadrank, the same files and the same command");
        }
        if (message.text != "more") {
            if (auto taken = answer(ended_from(json::parse(message.text)), message.from); !taken)
                return taken;
        }
        if (left()) peers_->send(message.from, fmt::format("play {}", numbers_[next_++]));
        return {};
    }

    // Waits until each worker has said goodbye; answers that are still on their way are dropped.
    void dismiss() {
        for (int rank = 1; rank < peers_->size(); ++rank) peers_->send(rank, "end");
        for (int gone = 1; gone < peers_->size();) {
            const auto message = peers_->receive();
            if (!message) std::this_thread::sleep_for(look_every);
            gone += message && message->text == "bye";
        }
    }

    Result<void> answer(const Ended& ended, int rank) {
        ++answered_;
        return take_(ended, rank);
    }

    const Work& work_;
    const std::vector<std::uint64_t>& numbers_;
    Peers* peers_;
    const std::function<Result<void>(const Ended&, int)>& take_;
    Children children_;
    std::size_t next_ = 0, answered_ = 0;
};

}  // namespace

Result<void> manage(const Work& work, const std::vector<std::uint64_t>& numbers, Peers* peers,
                    const std::function<Result<void>(const Ended&, int)>& take) {
    return Manager(work, numbers, peers, take).run();
}

void serve(const Work& work, Peers& peers) {
    Children children(work.budget);
    std::deque<std::uint64_t> given;
    peers.send(0, "hello " + work.definition);
    for (int i = 0; i < 2 * work.slots; ++i) peers.send(0, "more");
    for (;;) {
        for (auto message = peers.receive(); message; message = peers.receive()) {
            if (message->text == "end") return peers.send(0, "bye");
            given.push_back(std::stoull(message->text.substr(5)));
        }
        while (!given.empty() && children.running() < static_cast<std::size_t>(work.slots)) {
            const std::uint64_t number = given.front();
            given.pop_front();
            const auto started = children.start(number, [&] { return work.play(number); });
            if (!started) peers.send(0, ended_text(Ended{number, started.error().text(), 1, 0, false, 0}));
        }
        if (children.running() == 0) std::this_thread::sleep_for(look_every);
        for (const Ended& ended : children.wait(look_every)) peers.send(0, ended_text(ended));
    }
}

}  // namespace deadrank::runners::campaign
