// results/analysis/shape_words.cpp — One phrase of each message of PyTorch, NumPy, TensorFlow, JAX and the
// libraries of kernels, long enough that healthy logs do not hold it. Below, the words of set-up that fails.
#include "results/analysis/shape_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "results/analysis/call_order.h"
#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"

namespace deadrank::results::analysis {

namespace {

constexpr std::string_view phrases_of_shapes[] = {
    "exceeds dimension size",
    "start out of range",
    "must match the size of tensor",
    "mat1 and mat2",
    "size mismatch",
    "shape mismatch",
    "is invalid for input of size",
    "expected scalar type",
    "output tensor size must be equal",
    "invalid tensor size",
    "Split sizes doesn't match",
    "doesn't match tensor",
    "must have the same type as input tensor",
    "must be the same size as output size times",
    "Mismatch in shape: grad_output",
    "Dimension out of range",
    "tuple index out of range",
    "to match target batch_size",
    "requires uniform dtype",
    "is out of bounds for dimension",
    "but got torch.Size(",
    "writeback when the parameter shape",
    "writeback when the gradient shape",
    "Sizes of tensors must match",
    "Tensors must be contiguous",
    "expects each tensor to be equal size",
    "expanded size of the tensor",
    "doesn't match the broadcast shape",
    "Expected size for first two dimensions",
    "Given groups=",
    "expected input with shape",
    "Kernel size can't be greater than actual input",
    "and weight type (",
    "to have one of the following scalar types",
    "can't be cast to the desired output type",
    "requires the source and destination dtypes match",
    "but expected Float",
    "same number of dimensions",
    "view size is not compatible with input tensor's size",
    "index out of range in self",
    "IndexError: Target ",
    "The shape of the mask",
    "tensor has no dimensions",
    "too many indices for tensor of dimension",
    "elements cannot be converted to Scalar",
    "does not divide equally across group size",
    "Number of tensor splits not equal",
    "Invalid usage of tensors with different dtypes",
    "must have the same number of elements",
    "Tensors must be of equal type",
    "must match number of collective participants",
    "Expected tensor to have size",
    "Expected target size",
    "ValueError: Using a target size",
    "target tensor expected, multi-target",
    "returned an invalid gradient at index",
    "Shape mismatch",
    "The shape of the 2D attn_mask",
    "Attempting to broadcast a dimension of length",
    "create tensor with negative dimension",
    "out of bounds for storage of size",
    "split_sizes to sum exactly to",
    "Expected hidden[",
    "operands do not broadcast",
    "could not be broadcast together",
    "dimensions except for the concatenation axis",
    "inhomogeneous shape",
    "expected sequence of length",
    "Incompatible shapes",
    "contracting dimensions to have the same shape",
    "Must flatten tensors with uniform dtype",
    "Expected object of scalar type",
    "inconsistent tensor size",
    // Transformer Engine, flash-attention, xformers, Apex, JAX and XLA, Triton. NumPy's "cannot reshape array
    // of size" is not among them: what it reshapes is often a mesh of devices.
    "tensor (shape=",
    "Unsupported tensor dimension",
    "Input and output shapes need to match",
    "have incompatible dimensions",
    "attempted to reshape dims=",
    "attempted to view dims=",
    "have the same dtype",
    "must have shape (",
    "must divide number of heads in query",
    "and bf16 data type",
    "fp8_e4m3 data type",
    "head_size should be a multiple of",
    "head_size that is a multiple of",
    "head dimension at most",
    "Invalid shape",
    "of elements along dimension",
    "tensor have the same sequence length",
    "Unsupported hidden_size or types",
    "dtype mismatch",
    "Size mismatch",
    "incompatible shape",
    "arguments to have the same dtypes",
    "that differ in dimensions other than the one",
    "implies that the global size of its dimension",
    "buffer with incompatible size",
    "must have identical types, got",
    "cannot reshape array of shape",
    "make_shape_compatible",
    "not compatible for matmul",
    "operands must be same dtype",
};

}  // namespace

bool mentions_shape(std::string_view text) {
    return std::any_of(std::begin(phrases_of_shapes), std::end(phrases_of_shapes),
                       [&](std::string_view words) { return text.find(words) != text.npos; });
}

bool is_driver_error(std::string_view text) {
    return text.find("CUDA error") != text.npos || text.find("Cuda failure") != text.npos;
}

bool mentions_hardware(std::string_view text) {
    constexpr std::string_view words[] = {"launch failure", "unknown error", "ECC", "hardware"};
    return text.ends_with("Cuda failure") ||
           std::any_of(std::begin(words), std::end(words),
                       [&](std::string_view word) { return text.find(word) != text.npos; });
}

namespace {

// What an indexing kernel prints before the host hears of it.
bool asserts_an_index(std::string_view line) {
    constexpr std::string_view asserted[] = {"index out of bounds", "srcIndex < srcSelectDimSize",
                                             "t >= 0 && t < n_classes",
                                             "cur_target >= 0 && cur_target < n_classes"};
    return line.find("Assertion `") != line.npos &&
           std::any_of(std::begin(asserted), std::end(asserted),
                       [&](std::string_view words) { return line.find(words) != line.npos; });
}

// It has made a communicator, or begun a step.
bool is_set_up(const Evidence& evidence, const Complaint& complaint) {
    const auto made = evidence.each<CommInitLeave>();
    return had_begun_step(evidence, complaint.attempt, complaint.process, complaint.at) ||
           std::any_of(made.begin(), made.end(), [&](const Event* event) {
               return event->rank == complaint.process && event->at <= complaint.at &&
                      event->as<CommInitLeave>()->result == Code::ok &&
                      evidence.facts<Lives>().attempt_at(event->at) == complaint.attempt;
           });
}

bool asserted_an_index(const Evidence& evidence, const Complaint& complaint) {
    const auto said = evidence.each<RankLog>();
    return std::any_of(said.begin(), said.end(), [&](const Event* event) {
        return event->rank == complaint.process && event->at <= complaint.at &&
               asserts_an_index(evidence.text(event->as<RankLog>()->line));
    });
}

}  // namespace

Trouble classify_complaint(const Evidence& evidence, const Complaint& complaint) {
    const auto has = [&](std::string_view words) { return complaint.text.find(words) != std::string::npos; };
    if (complaint.trouble == Trouble::setup && is_store_loss(complaint.text) &&
        had_begun_step(evidence, complaint.attempt, complaint.process, complaint.at))
        return Trouble::connection;
    if (complaint.trouble == Trouble::setup && is_driver_error(complaint.text) && !has("driver version") &&
        is_set_up(evidence, complaint))
        return Trouble::exception;
    if (complaint.trouble == Trouble::native && has("device-side assert") &&
        asserted_an_index(evidence, complaint))
        return Trouble::shape;
    return complaint.trouble;
}

std::span<const std::string_view> list_shape_phrases() { return phrases_of_shapes; }

namespace {

constexpr std::array<std::string_view, 14> of_meeting = {
    "store",  "filestore", "tcpstore", "hashstore", "rendezvous",  "address",     "port",
    "socket", "endpoint",  "hostname", "master",    "coordinator", "init_method", "ncclUniqueId"};

constexpr std::array<std::string_view, 5> of_setup = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
                                                      "MASTER_PORT"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Letters only count: "new_store_test.txt" has the word "store".
bool says_word(std::string_view text, std::string_view word) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    for (auto from = text.begin();;) {
        const auto at = std::search(from, text.end(), word.begin(), word.end(), same);
        if (at == text.end()) return false;
        const auto end = at + static_cast<std::ptrdiff_t>(word.size());
        if ((at == text.begin() || !is_letter(*(at - 1))) && (end == text.end() || !is_letter(*end)))
            return true;
        from = at + 1;
    }
}

// What a store in a file says, "open(/shared/store): No such file or directory"; Python says it otherwise.
bool says_a_file_store(std::string_view words) {
    const auto open = words.find("open(");
    return open != std::string_view::npos && words.find("): ", open) != std::string_view::npos &&
           (open == 0 || !is_letter(words[open - 1]));
}

}  // namespace

std::vector<Time> list_rendezvous_times(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    const auto enters = evidence.each<RendezvousEnter>();
    if (std::none_of(enters.begin(), enters.end(),
                     [&](const Event* event) { return lives.attempt_at(event->at) == attempt; }))
        return {};
    std::vector<Time> met(static_cast<std::size_t>(lives.count()), never);
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        if (event->as<RendezvousLeave>()->result != Code::ok || lives.attempt_at(event->at) != attempt)
            continue;
        if (event->rank < 0 || event->rank >= lives.count()) continue;
        Time& left = met[static_cast<std::size_t>(event->rank)];
        left = std::min(left, event->at);
    }
    return met;
}

std::string find_missing_variable(std::string_view words) {
    constexpr std::string_view before = "KeyError: '";
    const auto at = words.find(before);
    if (at == std::string_view::npos) return {};
    std::string_view name = words.substr(at + before.size());
    name = name.substr(0, name.find('\''));
    const bool known = std::find(of_setup.begin(), of_setup.end(), name) != of_setup.end();
    return known ? std::string(name) : std::string();
}

bool is_rendezvous_failure(const Complaint& complaint, const std::vector<Time>& met) {
    if (complaint.trouble != Trouble::exception || !complaint.final) return false;
    const auto place = static_cast<std::size_t>(complaint.process);
    if (place >= met.size() || met[place] <= complaint.at) return false;
    const std::string_view words = find_key_line(complaint.text);
    return !find_missing_variable(words).empty() || says_a_file_store(words) ||
           std::any_of(of_meeting.begin(), of_meeting.end(),
                       [&](std::string_view word) { return says_word(words, word); });
}

}  // namespace deadrank::results::analysis
