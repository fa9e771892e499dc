// scenarios/format/skeleton.cpp — Picks what the taxonomy's mapping makes likely, and shows every parameter
// of the fault.
#include "scenarios/format/skeleton.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/toml_text.h"
#include "scenarios/model/value.h"

namespace deadrank::scenarios {

namespace {

// What a new scenario of the workload python begins with: something to run, and names for faults to act on.
constexpr const char* first_program =
    R"(program = '''  # the fixed program, or a file beside this one: "train.py"
import torch
import torch.distributed as dist
from deadrank import block, loss, phase, seam

dist.init_process_group()
torch.manual_seed(1)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=seam("learning_rate", 1) / 10)
for step in range(8):
    with phase("forward"):
        value = model(torch.full((2, 4), step + dist.get_rank() + 1.0)).square().mean()
    optimizer.zero_grad()
    value.backward()
    if block("gradient.reduce"):
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
    loss(value.item())
dist.destroy_process_group()
'''
)";

tl::unexpected<Error> unknown(std::string_view what, const std::string& word,
                              const std::vector<std::string>& known) {
    return refuse(ErrorCode::usage, fmt::format("there is no {} '{}'", what, word), suggestion(word, known));
}

bool is_name(std::string_view text) {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

Result<void> check_options(const SkeletonOptions& wish, const Taxonomy& taxonomy,
                           const Vocabulary& vocabulary) {
    const auto slash = wish.id.find('/');
    if (slash == std::string::npos || !is_name(std::string_view(wish.id).substr(slash + 1))) {
        return refuse(ErrorCode::usage, fmt::format("'{}' is not a name of a scenario", wish.id),
                      "write stage/name in small letters: communication/rank_leaves_all_reduce");
    }
    const std::string stage = wish.id.substr(0, slash);
    if (!find(taxonomy.stages, stage)) return unknown("stage", stage, ids(taxonomy.stages));
    if (!find(taxonomy.symptoms, wish.symptom))
        return unknown("symptom", wish.symptom, ids(taxonomy.symptoms));
    if (!wish.cause.empty() && !find(taxonomy.causes, wish.cause))
        return unknown("cause", wish.cause, ids(taxonomy.causes));
    if (!wish.fix.empty() && !find(taxonomy.fixes, wish.fix))
        return unknown("fix", wish.fix, ids(taxonomy.fixes));
    if (!vocabulary.fault(wish.fault)) return unknown("fault", wish.fault, names_of(vocabulary.faults));
    if (!wish.workload.empty() && !vocabulary.workload(wish.workload)) {
        return unknown("workload", wish.workload, names_of(vocabulary.workloads));
    }
    if (wish.workload == "recording" && wish.recording.empty())
        return refuse(ErrorCode::usage, "a recording is made of the evidence of a run",
                      "add --recording with the directory that `deadrank watch --record` has written");
    return {};
}

// The pairs of the symptom, most reported first.
std::vector<SymptomCausePair> pairs_of(const Taxonomy& taxonomy, const std::string& symptom) {
    std::vector<SymptomCausePair> pairs;
    std::copy_if(taxonomy.pairs.begin(), taxonomy.pairs.end(), std::back_inserter(pairs),
                 [&](const SymptomCausePair& pair) { return pair.symptom == symptom; });
    std::stable_sort(pairs.begin(), pairs.end(), [](const SymptomCausePair& a, const SymptomCausePair& b) {
        return a.reports > b.reports;
    });
    return pairs;
}

void choose(SkeletonOptions& wish, const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    for (const SymptomCausePair& pair : pairs_of(taxonomy, wish.symptom)) {
        if (wish.cause.empty()) wish.cause = pair.cause;
        if (wish.fix.empty() && pair.cause == wish.cause && !pair.fixes.empty())
            wish.fix = pair.fixes.front();
    }
    if (wish.cause.empty()) wish.cause = taxonomy.causes.front().id;
    if (wish.fix.empty()) wish.fix = taxonomy.fixes.front().id;
    if (wish.workload.empty()) wish.workload = vocabulary.workloads.front().name;
}

std::string other_causes(const SkeletonOptions& wish, const Taxonomy& taxonomy) {
    std::vector<std::string> causes;
    for (const SymptomCausePair& pair : pairs_of(taxonomy, wish.symptom)) {
        if (pair.cause != wish.cause) causes.push_back(pair.cause);
    }
    return causes.empty() ? "the only cause that the taxonomy pairs with it"
                          : fmt::format("or {}", fmt::join(causes, ", "));
}

// A first value for a parameter that has no default.
std::string example(const Parameter& parameter, const Kind& workload) {
    const bool seam = parameter.name == "seam" || parameter.name == "checks";
    if (seam && !workload.seams.empty()) return toml_text(workload.seams.front());
    if (parameter.name == "block" && !workload.blocks.empty()) return toml_text(workload.blocks.front());
    if (!parameter.choices.empty()) return toml_text(parameter.choices.front());
    switch (parameter.type) {
        case ValueType::boolean:
            return "true";
        case ValueType::integer:
            return std::to_string(std::max<std::int64_t>(parameter.least, 1));
        case ValueType::duration:
            return "\"10s\"";
        case ValueType::bytes:
            return "\"1GiB\"";
        case ValueType::rate:
            return "\"100Gbps\"";
        case ValueType::ratio:
            return "\"1%\"";
        case ValueType::factor:
            return "\"2x\"";
        case ValueType::table:
            return "{}";
        case ValueType::ranks:
        case ValueType::nodes:
            return "\"any\"";
        default:
            return "\"…\"";
    }
}

std::string parameter_row(const Parameter& parameter, const Kind& workload) {
    const bool required = !parameter.optional && parameter.fallback.empty();
    const auto value = parse_value(parameter.type, parameter.fallback);
    std::string literal = example(parameter, workload);
    if (!required && value && !parameter.fallback.empty()) {
        const bool bare = parameter.type == ValueType::boolean || parameter.type == ValueType::integer;
        literal = bare ? parameter.fallback : toml_text(parameter.fallback);
    }
    return fmt::format("{}{} = {}  # {}\n", required ? "" : "# ", parameter.name, literal,
                       in_one_line(parameter.what));
}

// "3..6" of 8 steps, "0..1" of 3.
std::string middle_of(std::int64_t steps) {
    return fmt::format("{}..{}", 3 * (steps - 1) / 7, 6 * (steps - 1) / 7);
}

std::string fault_table(const Kind& fault, const Kind& workload, std::int64_t steps) {
    std::string out =
        fmt::format("[[fault]]\nkind = {}  # {}\n", toml_text(fault.name), in_one_line(fault.what));
    for (const Parameter& parameter : fault.parameters) out += parameter_row(parameter, workload);
    const std::string when =
        fmt::format("when = {{ step = \"{}\" }}  # also phase, before = \"all_reduce\", nth, at, lasts, …\n",
                    middle_of(steps));
    return out + (fault.at_start ? "# " + when + "# without it: before the job starts\n" : when);
}

}  // namespace

Result<std::string> skeleton(const SkeletonOptions& stated, const Taxonomy& taxonomy,
                             const Vocabulary& vocabulary) {
    if (auto known = check_options(stated, taxonomy, vocabulary); !known)
        return tl::unexpected(known.error());
    SkeletonOptions wish = stated;
    choose(wish, taxonomy, vocabulary);
    const Kind& workload = *vocabulary.workload(wish.workload);
    std::string out = fmt::format(
        "# scenarios/catalog/{}.toml\n"
        "# Tell the story in two to four sentences: who did what, what followed, who was blamed first.\n"
        "format = 1\n\n",
        wish.id);
    out += fmt::format(
        "[bug]\nstage = {}\nsymptom = {}\ncause = {}  # {}\nfix = {}\n"
        "replays = []  # the public reports behind it: \"owner/repo#123\"\n",
        toml_text(wish.id.substr(0, wish.id.find('/'))), toml_text(wish.symptom), toml_text(wish.cause),
        other_causes(wish, taxonomy), toml_text(wish.fix));
    if (!wish.patch.empty()) out += fmt::format("patch = {}  # what makes the bug of the program\n", toml_text(wish.patch));
    out += fmt::format(
        "\n[cluster]  # only what differs from the defaults\nnodes = {}  # or [2, 4]: the seed "
        "chooses\ngpus_per_node = {}\n",
        wish.nodes, wish.ranks_per_node);
    if (const Kind* fault = vocabulary.fault(wish.fault); fault && fault->kept_store)
        out += "store = \"service\"  # or agent: one that outlives rank 0\n";
    out += "\n";
    out += fmt::format("[workload]\nkind = {}  # {}\n", toml_text(wish.workload), in_one_line(workload.what));
    for (const Parameter& parameter : workload.parameters) {
        if (parameter.name == "steps") out += fmt::format("steps = {}\n", wish.steps);
    }
    Kind published = workload;
    if (!wish.program.empty()) {
        out += fmt::format("program = {}  # the fixed one\n", toml_text(wish.program));
    } else if (!wish.recording.empty()) {
        out += fmt::format("recording = {}  # what the program did\n", toml_text(wish.recording));
    } else if (workload.name == python_workload) {
        out += first_program;
        published.seams.insert(published.seams.begin(), "learning_rate");
        published.blocks.insert(published.blocks.begin(), "gradient.reduce");
    }
    out += "\n";
    if (wish.patch.empty()) out += fault_table(*vocabulary.fault(wish.fault), published, wish.steps);
    out += fmt::format(
        "{}[expect]\nsymptom = {}\nblames = []  # of {}: what the alarm must name\n"
        "within = \"60s\"  # after the fault, in the run's own time\n"
        "others = \"none\"  # any further finding is a false alarm\n"
        "reaction = \"any\"  # of {}; with `any`, or without blames, say why in [expect.because]\n\n",
        wish.patch.empty() ? "\n" : "", toml_text(wish.symptom), fmt::join(list_words<BlameField>(), ", "),
        fmt::join(list_words<WantedReaction>(), ", "));
    out +=
        "[heal]\n";
    if (wish.patch.empty())
        out +=
            "fault = \"none\"  # or \"keep\", or a word for each fault: what the real fix leaves in place stays\n"
            "as_control = \"why the fix leaves nothing of the fault\"  # or leave it out, and change something\n";
    out +=
        "# with [heal.cluster], [heal.workload], [[heal.change]] rank = \"all\", [heal.expect]\n"
        "# workaround = \"why there is no fix, where this is what users did for want of one\"\n"
        "says = \"what the fix does, in one sentence\"\n\n"
        "[teach]\ntitle = \"\"\nsees = \"\"\nquestion = \"\"\nhints = [\"\", \"\"]\nanswer = \"\"\nwhy = "
        "\"\"\n";
    return out;
}

}  // namespace deadrank::scenarios
