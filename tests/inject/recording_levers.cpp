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

std::string words_of(const SetEnv& pull) { return fmt::format("{} {}={}", pull.rank, pull.name, pull.value); }

std::string words_of(const UnsetEnv& pull) { return fmt::format("{} {}", pull.rank, pull.name); }

std::string words_of(const PatchProgram& pull) { return fmt::format("{} {}", pull.rank, pull.patch); }
std::string words_of(const SetVersion& pull) {
    return fmt::format("{} {} {}", pull.rank, pull.package, pull.version);
}

std::string words_of(const SwapRanks& pull) { return fmt::format("{} {}", pull.a, pull.b); }

std::string words_of(const BreakPackage& pull) {
    return fmt::format("{} {} {}{}{}", pull.rank, pull.package, pull.problem,
                       pull.built_for.empty() ? "" : " for ", pull.built_for);
}

std::string words_of(const TakePort& pull) {
    return fmt::format("node {} {}{}", pull.node, pull.port, pull.mute ? " mute" : "");
}

std::string words_of(const BreakName& pull) {
    return fmt::format("{} {} {}", pull.rank, pull.host, name_of(pull.how));
}

std::string words_of(const ShareStore& pull) { return fmt::format("{} ranks={}", pull.run_id, pull.ranks); }

std::string words_of(const AddInterface& pull) {
    std::string words = fmt::format("node {} {}{}{}", pull.node, pull.name, pull.routable ? " routable" : "",
                                    pull.sorts_first ? " first" : "");
    say_unless(words, "bandwidth", pull.bandwidth, 0);
    return words;
}

std::string words_of(const RenameInterface& pull) {
    return fmt::format("node {} {} {}", pull.node, pull.name, pull.new_name.empty() ? "gone" : pull.new_name);
}

std::string words_of(const Kill& pull) { return fmt::format("{} {}", pull.rank, pull.signal); }

std::string words_of(const Exit& pull) { return fmt::format("{} {} {}", pull.rank, pull.code, pull.says); }

std::string words_of(const Stop& pull) { return fmt::format("{}", pull.rank); }

std::string words_of(const Resume& pull) { return fmt::format("{}", pull.rank); }

std::string words_of(const ChangeDevice& pull) {
    std::string words = fmt::format("{}", pull.rank);
    say(words, "slow", pull.change.slow_permille);
    say(words, "memory", pull.change.memory_limit);
    say(words, "leak", pull.change.leak_per_step);
    say(words, "throttle", pull.change.throttle);
    say(words, "off_bus", pull.change.off_bus);
    say_unless(words, "xid", pull.change.xid, 0);
    say_unless(words, "ecc", pull.change.ecc_uncorrected, 0);
    return words;
}

std::string words_of(const ChangeHost& pull) {
    std::string words = fmt::format("node {}", pull.node);
    say(words, "host", pull.change.host_memory_limit);
    say(words, "shared", pull.change.shared_memory_limit);
    say(words, "files", pull.change.open_files_limit);
    say(words, "locked", pull.change.locked_memory_limit);
    say(words, "leak", pull.change.leak_per_step);
    say(words, "drift", pull.change.clock_drift_ppb);
    say(words, "peers_stuck", pull.change.peers_stuck);
    if (pull.change.firewall) {
        constexpr std::string_view ways[] = {"open", "rejects", "drops"};
        words += fmt::format(" firewall={}", ways[static_cast<std::size_t>(*pull.change.firewall)]);
    }
    if (pull.change.direct) {
        constexpr std::string_view ways[] = {"works", "copied", "blocked"};
        words += fmt::format(" direct={}", ways[static_cast<std::size_t>(*pull.change.direct)]);
    }
    say_unless(words, "jump", pull.change.clock_step.count(), 0);
    say(words, "down", pull.change.down);
    return words;
}

std::string words_of(const ChangeLink& pull) {
    std::string words = fmt::format("{}-{}", pull.change.from, pull.change.to);
    say(words, "one_way", pull.change.one_way);
    say(words, "down", pull.change.down);
    say(words, "reset", pull.change.reset);
    say(words, "bandwidth", pull.change.bandwidth_permille);
    say(words, "latency", pull.change.extra_latency);
    say(words, "loss", pull.change.loss_ppb);
    return words;
}

std::string words_of(const ChangeStorage& pull) {
    std::string words = fmt::format("{} '{}'", name_of(pull.change.what), pull.change.path);
    say_unless(words, "amount", pull.change.amount, 0);
    say(words, "end", pull.change.end);
    return words;
}

std::string words_of(const ChangeStore& pull) {
    std::string words = fmt::format("{} '{}'", pull.rank, name_of(pull.change.how));
    say_unless(words, "late", pull.change.late.count(), 0);
    say_unless(words, "amount", pull.change.amount, 0);
    return words;
}

std::string words_of(const Preempt& pull) { return std::string(pull.reason); }

std::string words_of(const AlterCall& pull) {
    std::string words = fmt::format("{}", pull.rank);
    say(words, "skip", pull.change.skip);
    say(words, "hold", pull.change.hold);
    say_unless(words, "delay", pull.change.delay.count(), 0);
    say_unless(words, "count_change", pull.change.count_change, 0);
    say_unless(words, "count_set", pull.change.count_set, -1);
    if (pull.change.dtype != results::Dtype::none)
        words += fmt::format(" dtype={}", name_of(pull.change.dtype));
    if (pull.change.op != results::Op::none) words += fmt::format(" op={}", name_of(pull.change.op));
    if (pull.change.reduce != results::ReduceOp::none)
        words += fmt::format(" reduce={}", name_of(pull.change.reduce));
    say_unless(words, "root", pull.change.root, -1);
    if (pull.change.answer != results::Code::ok)
        words += fmt::format(" answer={}", name_of(pull.change.answer));
    say_unless(words, "flip_bit", pull.change.flip_bit, -1);
    say(words, "received", pull.change.flip_received);
    say(words, "on_the_way", pull.change.flip_on_the_way);
    say(words, "never_completes", pull.change.never_completes);
    return words;
}

std::string words_of(const BendValue& pull) {
    std::string words = fmt::format("{} {}", pull.rank, pull.seam);
    if (pull.bend.set_it) words += fmt::format(" set={}", pull.bend.set);
    say_unless(words, "multiply", pull.bend.multiply, 1);
    say_unless(words, "divide", pull.bend.divide, 1);
    say_unless(words, "add", pull.bend.add, 0);
    return words;
}

std::string words_of(const Unbend& pull) { return fmt::format("{} {}", pull.rank, pull.seam); }

std::string words_of(const CheckValue& pull) {
    if (!pull.check) return fmt::format("{} {} no more", pull.rank, pull.seam);
    const auto relation = static_cast<std::size_t>(pull.check->refuses);
    std::string words =
        fmt::format("{} {} {} {}", pull.rank, pull.seam, results::relation_words()[relation],
                    pull.check->against.empty() ? std::to_string(pull.check->than) : pull.check->against);
    return words + ": " + pull.check->words(7, 8);
}

std::string words_of(const SkipBlock& pull) {
    return fmt::format("{} {}{}", pull.rank, pull.block, pull.skip ? "" : " no more");
}

}  // namespace

Result<Done> RecordingLevers::pull(const Pull& pull) {
    return std::visit(
        [this](const auto& one) -> Result<Done> {
            const std::string lever = one.lever;
            if (refused.count(lever) > 0)
                return scenarios::refuse(scenarios::ErrorCode::unsupported, "there is no lever " + lever);
            pulls.push_back(lever + " " + words_of(one));
            return Done{};
        },
        pull);
}

}  // namespace deadrank::inject::testing
