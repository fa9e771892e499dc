// tests/inject/recording_levers.cpp — The words of each pull: only what differs from normal is said.
#include "tests/inject/recording_levers.h"

#include <fmt/format.h>

namespace deadrank::inject::testing {

namespace {

template <class T>
void say(std::string& words, std::string_view name, const std::optional<T>& value) {
    if (value) words += fmt::format(" {}={}", name, *value);
}
void say(std::string& words, std::string_view name, const std::optional<Time>& value) {
    if (value) words += fmt::format(" {}={}ns", name, value->count());
}
void say(std::string& words, std::string_view name, bool value) {
    if (value) words += fmt::format(" {}", name);
}
void say_unless(std::string& words, std::string_view name, std::int64_t value, std::int64_t normal) {
    if (value != normal) words += fmt::format(" {}={}", name, value);
}

}  // namespace

Result<Done> RecordingLevers::pull(const std::string& lever, const std::string& words) {
    if (refused.count(lever) > 0)
        return scenarios::refuse(scenarios::ErrorCode::unsupported, "there is no lever " + lever);
    pulls.push_back(lever + " " + words);
    return Done{};
}

Result<Done> RecordingLevers::set_env(Rank rank, std::string_view name, std::string_view value) {
    return pull("set_env", fmt::format("{} {}={}", rank, name, value));
}
Result<Done> RecordingLevers::unset_env(Rank rank, std::string_view name) {
    return pull("unset_env", fmt::format("{} {}", rank, name));
}
Result<Done> RecordingLevers::set_version(Rank rank, std::string_view package, std::string_view version) {
    return pull("set_version", fmt::format("{} {} {}", rank, package, version));
}
Result<Done> RecordingLevers::swap_ranks(Rank a, Rank b) {
    return pull("swap_ranks", fmt::format("{} {}", a, b));
}
Result<Done> RecordingLevers::break_package(Rank rank, std::string_view package, std::string_view problem) {
    return pull("break_package", fmt::format("{} {} {}", rank, package, problem));
}
Result<Done> RecordingLevers::take_port(int node, std::string_view port, bool mute) {
    return pull("take_port", fmt::format("node {} {}{}", node, port, mute ? " mute" : ""));
}
Result<Done> RecordingLevers::break_name(Rank rank, std::string_view host, std::string_view how) {
    return pull("break_name", fmt::format("{} {} {}", rank, host, how));
}
Result<Done> RecordingLevers::add_interface(int node, std::string_view name, bool routable,
                                            bool sorts_first) {
    return pull("add_interface", fmt::format("node {} {}{}{}", node, name, routable ? " routable" : "",
                                             sorts_first ? " first" : ""));
}
Result<Done> RecordingLevers::kill(Rank rank, int signal) {
    return pull("kill", fmt::format("{} {}", rank, signal));
}
Result<Done> RecordingLevers::exit(Rank rank, int code, std::string_view says) {
    return pull("exit", fmt::format("{} {} {}", rank, code, says));
}
Result<Done> RecordingLevers::stop(Rank rank) { return pull("stop", fmt::format("{}", rank)); }
Result<Done> RecordingLevers::resume(Rank rank) { return pull("resume", fmt::format("{}", rank)); }

Result<Done> RecordingLevers::change_device(Rank rank, const DeviceChange& change) {
    std::string words = fmt::format("{}", rank);
    say(words, "slow", change.slow_permille);
    say(words, "memory", change.memory_limit);
    say(words, "leak", change.leak_per_step);
    say(words, "throttle", change.throttle);
    say(words, "off_bus", change.off_bus);
    say_unless(words, "xid", change.xid, 0);
    say_unless(words, "ecc", change.ecc_uncorrected, 0);
    return pull("change_device", words);
}

Result<Done> RecordingLevers::change_host(int node, const HostChange& change) {
    std::string words = fmt::format("node {}", node);
    say(words, "host", change.host_memory_limit);
    say(words, "shared", change.shared_memory_limit);
    say(words, "files", change.open_files_limit);
    say(words, "leak", change.leak_per_step);
    say(words, "drift", change.clock_drift_ppb);
    say_unless(words, "jump", change.clock_step.count(), 0);
    say(words, "down", change.down);
    return pull("change_host", words);
}

Result<Done> RecordingLevers::change_link(const LinkChange& change) {
    std::string words = fmt::format("{}-{}", change.from, change.to);
    say(words, "one_way", change.one_way);
    say(words, "down", change.down);
    say(words, "reset", change.reset);
    say(words, "bandwidth", change.bandwidth_permille);
    say(words, "latency", change.extra_latency);
    say(words, "loss", change.loss_ppb);
    return pull("change_link", words);
}

Result<Done> RecordingLevers::change_storage(const StorageChange& change) {
    std::string words = fmt::format("{} '{}'", change.what, change.path);
    say_unless(words, "amount", change.amount, 0);
    say(words, "end", change.end);
    return pull("change_storage", words);
}

Result<Done> RecordingLevers::change_store(Rank rank, const StoreChange& change) {
    std::string words = fmt::format("{} '{}'", rank, change.how);
    say_unless(words, "late", change.late.count(), 0);
    say_unless(words, "amount", change.amount, 0);
    return pull("change_store", words);
}

Result<Done> RecordingLevers::preempt(std::string_view reason) {
    return pull("preempt", std::string(reason));
}

Result<Done> RecordingLevers::alter_call(Rank rank, const Alteration& alteration) {
    std::string words = fmt::format("{}", rank);
    say(words, "skip", alteration.skip);
    say(words, "hold", alteration.hold);
    say_unless(words, "delay", alteration.delay.count(), 0);
    say_unless(words, "count_change", alteration.count_change, 0);
    say_unless(words, "count_set", alteration.count_set, -1);
    if (alteration.dtype != results::Dtype::none)
        words += fmt::format(" dtype={}", name_of(alteration.dtype));
    if (alteration.op != results::Op::none) words += fmt::format(" op={}", name_of(alteration.op));
    if (alteration.reduce != results::ReduceOp::none)
        words += fmt::format(" reduce={}", name_of(alteration.reduce));
    say_unless(words, "root", alteration.root, -1);
    if (alteration.answer != results::Code::ok)
        words += fmt::format(" answer={}", name_of(alteration.answer));
    say_unless(words, "flip_bit", alteration.flip_bit, -1);
    say(words, "received", alteration.flip_received);
    say(words, "on_the_way", alteration.flip_on_the_way);
    say(words, "never_completes", alteration.never_completes);
    return pull("alter_call", words);
}

Result<Done> RecordingLevers::bend(Rank rank, std::string_view seam, const Bend& bend) {
    std::string words = fmt::format("{} {}", rank, seam);
    if (bend.set_it) words += fmt::format(" set={}", bend.set);
    say_unless(words, "multiply", bend.multiply, 1);
    say_unless(words, "divide", bend.divide, 1);
    say_unless(words, "add", bend.add, 0);
    return pull("bend", words);
}
Result<Done> RecordingLevers::unbend(Rank rank, std::string_view seam) {
    return pull("unbend", fmt::format("{} {}", rank, seam));
}
Result<Done> RecordingLevers::skip_block(Rank rank, std::string_view block, bool skip) {
    return pull("skip_block", fmt::format("{} {}{}", rank, block, skip ? "" : " no more"));
}

}  // namespace deadrank::inject::testing
