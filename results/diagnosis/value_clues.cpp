// results/diagnosis/value_clues.cpp — How a number is wrong: by which factor, since when, on which ranks.
#include <bit>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/findings.h"
#include "results/detectors/shared.h"
#include "results/diagnosis/clue.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Symptom;

using namespace analysis;

namespace {

bool concerns_values(const Finding& finding) {
    for (const std::string_view symptom :
         {id_of(Symptom::replica_state_divergence), id_of(Symptom::wrong_intermediate_value),
          id_of(Symptom::parallel_result_mismatch), id_of(Symptom::loss_nan_or_divergence),
          id_of(Symptom::inference_output_inconsistency_across_devices),
          id_of(Symptom::resume_state_regression), id_of(Symptom::ci_or_test_failure)}) {
        if (finding.symptom == symptom) return true;
    }
    return false;
}

// A whole number of at least 2, or one over it: a divisor, a group size, a count of micro-batches.
std::int64_t factor_of(double value, double right) {
    if (!std::isfinite(value) || !std::isfinite(right) || value == 0 || right == 0) return 0;
    double ratio = std::fabs(value / right);
    if (ratio < 1) ratio = 1 / ratio;
    const double whole = std::round(ratio);
    return whole >= 2 && whole <= 4096 && std::fabs(ratio - whole) < whole / 1000
               ? static_cast<std::int64_t>(whole)
               : 0;
}

// Do they differ in one bit of a 32-bit float? Not the lowest of the exponent, a factor of two with likelier
// reasons, nor the low ones of the mantissa, which are rounding.
bool one_bit_of_a_float(double value, double right) {
    const auto one = static_cast<float>(value), other = static_cast<float>(right);
    if (!std::isfinite(one) || !std::isfinite(other) || other == 0) return false;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(one) ^ std::bit_cast<std::uint32_t>(other);
    constexpr int mantissa = 23, told = 12, round = 8;
    const int bit = std::countr_zero(bits);
    const bool is_round = std::countr_zero(std::bit_cast<std::uint32_t>(other)) >= round;  // 2 beside 3
    return std::has_single_bit(bits) && !is_round && bit >= mantissa - told && bit != mantissa && bit != 31;
}

// Do they differ in one bit of some weight? Sums and factors of real numbers do not; in a sum of whole
// numbers it is a power of two.
bool one_bit(double value, double right) {
    const double off = std::fabs(value - right);
    int exponent = 0;
    const bool of_whole = std::isfinite(off) && off >= 64 && std::frexp(off, &exponent) == 0.5;
    return of_whole || one_bit_of_a_float(value, right);
}

void factors(const Evidence& evidence, Clues& clues) {
    bool factor = false, constant = false, bit = false;
    for (const WrongValue& wrong : find_wrong_values(evidence)) {
        const auto* sample = wrong.event->as<ValueSample>();
        if (!bit && one_bit(sample->value, sample->expected)) {
            bit = true;
            clues.push_back({"off_by_one_bit", fmt::format("{} is off by {}, one bit", wrong.name,
                                                           std::fabs(sample->value - sample->expected))});
        }
        if (const auto times = factor_of(sample->value, sample->expected); times > 0 && !factor) {
            factor = true;
            clues.push_back(
                {"off_by_a_factor", fmt::format("{} is {} where {} is right: a factor of {}", wrong.name,
                                                sample->value, sample->expected, times)});
        }
        if (!constant && (wrong.name == SampleName::learning_rate || wrong.name == SampleName::loss_scale)) {
            constant = true;
            clues.push_back(
                {"constant_quantity_wrong", fmt::format("{} is {} where {} is configured", wrong.name,
                                                        sample->value, sample->expected)});
        }
    }
}

void place(const Evidence& evidence, const Finding& finding, Clues& clues) {
    const auto ranks = static_cast<std::int32_t>(finding.blame.ranks.size());
    if (ranks == 1)
        clues.push_back({"wrong_on_one_rank", fmt::format("rank {} alone", finding.blame.ranks[0])});
    if (ranks == evidence.world_size() || ranks == 0)
        clues.push_back({"wrong_everywhere", "all ranks are wrong alike"});
    std::int64_t first = -1;
    for (const Event* event : evidence.each<StepBegin>()) {
        first = event->as<StepBegin>()->step;
        break;
    }
    if (finding.blame.variable == SampleName::learning_rate &&
        finding.symptom == Symptom::wrong_intermediate_value)
        clues.push_back({"constant_quantity_wrong", finding.says});
    if (!finding.blame.step) return;
    if (*finding.blame.step == first + 1)
        clues.push_back({"right_in_the_first_step_only", "right in the first step, wrong in the second"});
    const bool at_first = *finding.blame.step <= first;
    clues.push_back({at_first ? "wrong_at_the_first_step" : "wrong_later",
                     fmt::format("first seen in step {}", *finding.blame.step)});
}

// Did the blamed rank call less often than the others did by then?
void call_counts(const Evidence& evidence, const Finding& finding, Clues& clues) {
    std::map<Rank, std::int64_t> calls;
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        if (event->at <= finding.at) ++calls[event->rank];
    }
    if (finding.blame.ranks.empty()) return;
    const std::int64_t mine = calls[finding.blame.ranks.front()];
    std::int64_t others = 0;
    for (const auto& [rank, count] : calls) others = std::max(others, count);
    if (mine == others && finding.blame.ranks.size() == 1)
        clues.push_back({"calls_equal", fmt::format("rank {} made as many collective calls as its peers",
                                                    finding.blame.ranks.front())});
    if (mine >= others) return;
    clues.push_back({"calls_fewer", fmt::format("rank {} made {} collective calls where others made {}",
                                                finding.blame.ranks.front(), mine, others)});
}

// Random numbers have to be the same on all ranks, or different, on purpose.
void chance(const Evidence& evidence, Clues& clues) {
    for (const Event* event : evidence.each<ValueSample>()) {
        const std::string_view name = evidence.text(event->as<ValueSample>()->name);
        if (!name.starts_with("dropout")) continue;
        clues.push_back({"random_numbers_drawn", fmt::format("each rank draws random numbers: {}", name)});
        break;
    }
    std::map<std::int64_t, std::uint64_t> answers;
    for (const Event* event : evidence.each<ServeOutput>()) {
        const auto* output = event->as<ServeOutput>();
        if (answers.try_emplace(output->request, output->digest).first->second == output->digest) continue;
        clues.push_back(
            {"answers_differ", fmt::format("ranks give different answers to request {}", output->request)});
        break;
    }
}

}  // namespace

void value_clues(const Evidence& evidence, const Finding& finding, Clues& clues) {
    if (const Findings overlaps = detectors::shard_mismatch(evidence); !overlaps.empty())
        clues.push_back({"shards_overlap", overlaps.front().says});
    if (!concerns_values(finding)) return;
    factors(evidence, clues);
    place(evidence, finding, clues);
    call_counts(evidence, finding, clues);
    chance(evidence, clues);
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto* end = event->as<StepEnd>();
        if (std::isfinite(end->loss) && std::isfinite(end->gradient_norm)) continue;
        clues.push_back(
            {"not_finite", fmt::format("rank {} in step {}: no number any more", event->rank, end->step)});
        break;
    }
}

}  // namespace deadrank::results::diagnosis
