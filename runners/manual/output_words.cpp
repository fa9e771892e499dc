// runners/manual/output_words.cpp — Words that the program prints, and what each means, for `deadrank
// explain` and the manual. tests/runners/manual/vocabulary_test.cpp compares them with the enumerations that
// print them.
#include "runners/manual/output_words.h"

#include <algorithm>

namespace deadrank::runners::manual {

namespace {

// Where words are printed.
namespace printed {
constexpr std::string_view verdict = "verdict", alarm = "outcome of a run's alarm (run, judge, score)",
                           reaction = "reaction of a job (run, report resilience)",
                           rule = "verdict on an alert rule (alerts)",
                           place = "how precisely an alert's labels point at the failure (alerts)",
                           dead_rule = "why an alert rule can never fire (alerts)",
                           cell = "cell of the matrix (alerts)", answer = "row of the answer (diagnose)",
                           certainty = "how certain an answer is (diagnose)",
                           incident = "outcome of an incident (diagnose)",
                           program = "outcome of a program under a fault (inject, sweep, test)",
                           reductions = "mutation of reductions (test --mutate)",
                           shards = "mutation of shards (test --mutate)",
                           scalings = "mutation of scalings (test --mutate)",
                           seeds = "mutation of seeds (test --mutate)", state = "mutation of state (test --mutate)",
                           mutant = "outcome of a mutant (test --mutate)",
                           harm = "harm to a job (sweep, sweep swarm)",
                           seen = "what detectors made of a fault (sweep, inject)",
                           modality = "kind of property (sweep swarm)",
                           agreement = "agreement of two backends (report parity)",
                           promise = "verdict on a promise (report promises)", mark = "mark in a truth file",
                           term = "term";
}  // namespace printed

constexpr OutputWord words_of_output[] = {
    {printed::verdict, "pass", "Everything that the scenario expects was observed. Exit code 0."},
    {printed::verdict, "fail", "Something that the scenario expects was not observed. Exit code 1."},
    {printed::verdict, "unknown",
     "Something prevented the judgement. The reason is printed. It proves nothing. Exit code 2."},

    {printed::alarm, "caught", "A finding names the right symptom and the right culprit, in time."},
    {printed::alarm, "wrong_rank",
     "A finding names the right symptom and blames something else: another rank, node, step or variable."},
    {printed::alarm, "wrong_class",
     "A finding exists, and it names another symptom than the scenario expects."},
    {printed::alarm, "late", "The right finding came after the time that `within` allows."},
    {printed::alarm, "silent", "The fault happened and no detector reported it."},
    {printed::alarm, "crashed", "A detector failed on this evidence."},
    {printed::alarm, "noisy", "The right finding came, together with findings that nothing explains."},
    {printed::alarm, "false_alarm", "A finding came in a run without a fault, or before the fault."},
    {printed::alarm, "dead_metric", "The alert rule reads a metric that no exporter of this run has."},
    {printed::alarm, "sticky", "The alert fired, and did not clear after the repair."},
    {printed::alarm, "pending_only", "The alert saw the failure for less time than its `for` asks."},
    {printed::alarm, "not_applied", "The fault never happened, so nothing could be judged."},
    {printed::alarm, "as_unseen",
     "Nothing can show this bug, the scenario states so, and no detector reported it."},
    {printed::alarm, "quiet", "The control run or the healed run has no finding, as it should be."},
    {printed::alarm, "unfinished", "The control run or the healed run did not reach its end."},
    {printed::alarm, "heals_nothing",
     "The healed run is as it should be, and so is the run with the fault: the fix proves nothing."},
    {printed::alarm, "as_control",
     "The healed run equals the control run, event for event. It is quiet and proves nothing."},
    {printed::alarm, "unjudged", "There is nothing to judge against: evidence without truth, or half a run."},

    {printed::reaction, "completed", "The job completed and printed no warning."},
    {printed::reaction, "warned_and_completed",
     "The job printed a warning and completed with the right result."},
    {printed::reaction, "clear_error",
     "The job ended with an error that leads to the cause and blames no other rank."},
    {printed::reaction, "misleading_error", "The job ended with an error that does not lead to the cause."},
    {printed::reaction, "wrong_rank", "The job ended with an error that blames another rank."},
    {printed::reaction, "refused_to_start", "The job ended with a clear error before its first step."},
    {printed::reaction, "restarted", "The job was started again and completed."},
    {printed::reaction, "hung", "A rank never ended."},
    {printed::reaction, "silent_wrong_result",
     "The job completed with another result than its control run and printed no error."},
    {printed::reaction, "not_checked",
     "The result is wrong because a setting differs per rank, and the framework promises no comparison of "
     "it."},

    {printed::rule, "caught", "The rule fired after the failure and soon enough."},
    {printed::rule, "late", "The rule fired after the objective of the failure."},
    {printed::rule, "sticky", "The rule fired, and did not clear after the repair."},
    {printed::rule, "wrong_place", "The rule fired, and its labels name healthy nodes or GPUs only."},
    {printed::rule, "pending_only", "The rule's condition held for less time than its `for`."},
    {printed::rule, "after_repair", "The rule first fired after the repair, while the job came back."},
    {printed::rule, "missed", "The rule reads a metric that the failure moves, and did not fire."},
    {printed::rule, "unconcerned",
     "The rule watches for something else: it reads nothing that the failure moves, by its matchers it reads "
     "other series of that name, or the failure moves what it reads away from the threshold."},
    {printed::rule, "false_alarm", "The rule fires now and then in a healthy run."},
    {printed::rule, "background", "The rule fires through the whole healthy run."},
    {printed::rule, "dead",
     "The rule can never fire: a misspelled or renamed metric or label, a counter that is off, a join that "
     "never meets, a threshold that the metric never passes, or a range that holds less than two scrapes."},
    {printed::rule, "depends_on_your_names",
     "The rule waits for a job, host, disk or label that the site names itself. A name map (--map) says what "
     "yours are called."},
    {printed::rule, "not_simulated",
     "The rule reads what no exporter of this run emits, or rings because that is missing. The report says "
     "whose "
     "it is."},
    {printed::rule, "invalid", "Prometheus refuses the rule's file."},
    {printed::rule, "unjudged",
     "promtool refuses to evaluate the rule, or no time was left for it. The report has the reason."},

    {printed::place, "exact", "The labels name the failed device."},
    {printed::place, "node", "The labels name the node of the failed device."},
    {printed::place, "spread", "The labels name the failed part and healthy ones."},
    {printed::place, "nowhere", "The labels name no part of the failure."},

    {printed::dead_rule, "misspelled", "The rule's metric or label is nearly the name of one that exists."},
    {printed::dead_rule, "named_otherwise", "The metric, label or value has another name here."},
    {printed::dead_rule, "off_by_default", "A stock exporter does not export the metric."},
    {printed::dead_rule, "contradiction",
     "The rule joins series that never meet, or its matchers exclude every series."},
    {printed::dead_rule, "out_of_reach",
     "The metric never passes the rule's threshold. The report has the metric's range and where it is from."},
    {printed::dead_rule, "range_too_short",
     "rate() and its like compare two scrapes, and the rule's range is shorter than two scrape intervals."},
    {printed::dead_rule, "your_names", "The rule names a job, host, disk or label of the site's own."},
    {printed::dead_rule, "not_simulated",
     "The metric comes from an exporter that this run does not simulate."},
    {printed::dead_rule, "nobody's", "The metric comes from no known exporter."},

    {printed::cell, "+",
     "The rule fired, so long after the failure. A question mark behind it: its labels do not lead to the "
     "place. !: later than the objective. ~: it still fires long after the repair."},
    {printed::cell, "?", "Behind a time: the rule's labels do not lead to the place."},
    {printed::cell, "!", "Behind a time: the rule fired later than the objective of the failure."},
    {printed::cell, "~", "Behind a time: the rule still fires long after the repair."},
    {printed::cell, "p+", "Pending only: the condition had to hold that much longer."},
    {printed::cell, "wrong", "The rule fired, and its labels name healthy nodes or GPUs only."},
    {printed::cell, "after", "The rule first fired after the repair."},
    {printed::cell, "miss",
     "The rule stayed silent, although the failure moves what it reads towards its threshold, leaves it "
     "where "
     "it was, or ends series that the rule counts."},
    {printed::cell, "false", "The rule fires now and then in a healthy run."},
    {printed::cell, "backg", "Background: the rule fires through the whole healthy run."},
    {printed::cell, "never", "The rule can never fire. The report has the reason."},
    {printed::cell, "names", "The rule waits for a name of the site's own, which a name map (--map) says."},
    {printed::cell, "n/sim", "The rule reads what no exporter of this run emits."},
    {printed::cell, "n/j", "Not judged: promtool refuses to evaluate the rule, or no time was left for it."},
    {printed::cell, "inval", "Prometheus refuses the rule's file."},
    {printed::cell, "·", "The failure does not concern the rule. --explain has the reason."},

    {printed::answer, "what", "What happened: a symptom of the taxonomy, an end, or unknown."},
    {printed::answer, "who",
     "The ranks, hosts or devices that began it. Ranks that only waited are not among them."},
    {printed::answer, "why", "The sentence that the answer rests on."},
    {printed::answer, "lines", "Up to three lines of the log, those nearest to the cause first."},
    {printed::answer, "cause", "Likely causes of the taxonomy. Only those for which a line speaks."},
    {printed::answer, "next", "What to look at next."},
    {printed::answer, "sure", "How certain the answer is: high, fair or low, with the reason."},
    {printed::answer, "read", "How many lines were read, and how many of them were not understood."},

    {printed::certainty, "high", "The line is the error of a rank or a machine itself."},
    {printed::certainty, "fair",
     "Other ranks report it, which waited for the one that is named or lost it; or no line shows which rank began it."},
    {printed::certainty, "low", "Only how processes ended is known."},

    {printed::incident, "healthy", "No detector found anything in a run of deadrank's own."},
    {printed::incident, "completed", "A line of the log proves that the job completed."},
    {printed::incident, "found", "A bug was identified."},
    {printed::incident, "stopped", "A person, a time limit or a preemption ended the job."},
    {printed::incident, "unknown", "The job failed and no line tells why, or no line was understood."},

    {printed::program, "unaffected",
     "The program reached the result of its healthy run without a restart. Sign: ."},
    {printed::program, "recovered",
     "The program was restarted and reached the result of its healthy run. Sign: +"},
    {printed::program, "clear_error", "The program ended with an error that names the culprit. Sign: c"},
    {printed::program, "vague_error", "The program ended with an error that names nobody at fault. Sign: e"},
    {printed::program, "wrong_rank", "The program ended with an error that names another rank. Sign: x"},
    {printed::program, "watchdog", "The program ended with an error after a time-out of minutes. Sign: w"},
    {printed::program, "lost_checkpoint",
     "The program completed without a checkpoint that its healthy run leaves, or left it unreadable. Sign: "
     "L"},
    {printed::program, "hang", "The program never ended. Sign: H"},
    {printed::program, "wrong_result",
     "The program completed with another result than its healthy run and printed no error. Sign: W"},
    {printed::program, "never_came", "The program never reached the moment of the fault. Sign: -"},
    {printed::program, "unknown", "The program could not be played. Sign: ?"},

    {printed::reductions, "sum_for_mean",
     "A mean over the ranks becomes a sum. Gradients in a backward count as means. All ranks."},
    {printed::reductions, "mean_for_sum", "A sum over the ranks is divided by their number. All ranks."},
    {printed::reductions, "reduction_left_out",
     "Each rank keeps its own value in place of the reduced one. All ranks."},
    {printed::reductions, "contribution_left_out",
     "One rank contributes zeros to a sum or a mean. Rank 1 of the group."},
    {printed::reductions, "late_contribution",
     "One rank contributes what it had in the previous call at this line. Rank 1 of the group."},
    {printed::reductions, "wrong_group",
     "Each half of the group reduces by itself. All ranks, three or more."},
    {printed::reductions, "broadcast_left_out",
     "Ranks keep what they had in place of the root's value. All ranks."},
    {printed::shards, "shards_swapped",
     "The pieces of ranks 0 and 1 change places in a gather, scatter, reduce_scatter or all_to_all. All "
     "ranks."},
    {printed::shards, "shards_off_by_one",
     "Each rank's piece comes in the place of the one before it. All ranks."},
    {printed::shards, "sampler_off_by_one",
     "A DistributedSampler gives each rank the next rank's samples. All ranks."},
    {printed::shards, "sampler_swapped", "A DistributedSampler gives ranks 0 and 1 each other's samples."},
    {printed::shards, "sampler_same",
     "A DistributedSampler gives all ranks the samples of rank 0. All ranks."},
    {printed::shards, "partial_as_replicate",
     "DTensor.from_local takes partial sums for whole values: they are never added. All ranks."},
    {printed::scalings, "loss_times_ranks",
     "backward() begins with the loss times the number of ranks. All ranks."},
    {printed::scalings, "gradients_kept",
     "zero_grad() does nothing, so gradients add up over the steps. All ranks."},
    {printed::scalings, "unscale_left_out",
     "GradScaler does not divide the gradients by its scale. All ranks."},
    {printed::scalings, "clipping_left_out",
     "clip_grad_norm_() leaves the gradients as they are. All ranks."},
    {printed::seeds, "seed_same", "torch.manual_seed() gets rank 0's seed. All ranks."},
    {printed::seeds, "seed_differs", "torch.manual_seed() gets another seed on each rank but rank 0."},
    {printed::seeds, "epoch_left_out",
     "DistributedSampler.set_epoch() does nothing, so each epoch has the same order. All ranks."},
    {printed::state, "optimizer_state_dropped",
     "Optimizer.load_state_dict() loads settings and no state: momenta begin at zero. All ranks."},
    {printed::state, "stale_tensor",
     "One tensor of a loaded model or checkpoint keeps the value that it had before. All ranks."},
    {printed::state, "shard_of_rank_0", "torch.load() reads the file that rank 0 reads. All ranks."},

    {printed::mutant, "killed", "A test fails that passes with the program as it is."},
    {printed::mutant, "timed_out", "A test hangs, which ends in virtual time. It counts as noticed."},
    {printed::mutant, "survived", "The mutant changed a value, and no test fails."},
    {printed::mutant, "equivalent", "The mutant was executed and changed no value. It is not counted."},
    {printed::mutant, "not_reached", "No test executes the call. It is not counted."},
    {printed::mutant, "invalid",
     "The mutant could not be played, or a test failed although no value had changed. It is not counted."},

    {printed::harm, "none", "The job took no harm."},
    {printed::harm, "slower", "The job took a tenth longer than its control run, or more."},
    {printed::harm, "wrong_result", "The job completed with another result than its control run."},
    {printed::harm, "failed", "The job ended with an error."},
    {printed::harm, "restarted", "The job was started again."},
    {printed::harm, "hung", "The job never ended."},

    {printed::seen, "not_applied", "The fault was not triggered at this place."},
    {printed::seen, "harmless", "The job took no harm, and no detector reported anything. Sign: ·"},
    {printed::seen, "named", "A finding names a culprit. Sign: ●"},
    {printed::seen, "noticed", "A finding exists and names no rank. Sign: ○"},
    {printed::seen, "late", "The finding came later than the scenario allows. Sign: ◷"},
    {printed::seen, "misnamed", "A finding blames another rank, or names another symptom. Sign: ≠"},
    {printed::seen, "missed", "The job took harm, and no detector reported anything. Sign: ✘"},
    {printed::seen, "untold", "The run could not be played, or a detector crashed. Sign: ?"},
    {printed::seen, "silent", "No detector reported anything."},

    {printed::modality, "always", "The property must hold in every run."},
    {printed::modality, "eventually", "The property must hold at the end of every run."},
    {printed::modality, "sometimes",
     "The property must hold in some run of a search, or the search reaches too little."},

    {printed::agreement, "agree", "The simulator and the real job have the same findings."},
    {printed::agreement, "explained", "The findings differ, and the scenario states why under [parity]."},
    {printed::agreement, "differ", "The findings differ, and nothing states why."},
    {printed::agreement, "not_played", "The real backend cannot play the scenario. The reason is printed."},

    {printed::promise, "kept", "What the framework's documentation promises under this fault was observed."},
    {printed::promise, "kept_late", "The promise was kept after the promised time."},
    {printed::promise, "broken", "What the framework's documentation promises was not observed."},
    {printed::promise, "not_promised", "The documentation promises nothing under this fault."},
    {printed::promise, "unknown", "The run could not decide. The reason is printed."},

    {printed::mark, "fault.applied", "The fault acted."},
    {printed::mark, "fault.reverted", "The fault was taken back."},
    {printed::mark, "fault.refused", "The backend cannot do this part of the fault, so it never happened."},
    {printed::mark, "fault.missed", "The moment of the fault never came."},
    {printed::mark, "fault.unread",
     "The fault changed something that nothing read afterwards: it had no effect."},
    {printed::mark, "deadlock", "No further event was possible. The graph of waits is in the text."},
    {printed::mark, "outcome", "How the simulator's run ended."},

    {printed::term, "alarm",
     "What a detector reports during a run: a symptom, the ranks that it blames, a sentence and a time."},
    {printed::term, "again", "The line of output with the command that plays the same run again."},
    {printed::term, "blind",
     "`watch` prints it if a detector lacks the events that it reads, and so cannot report."},
    {printed::term, "control", "The run with the same draws and without the fault. No alarm may ring in it."},
    {printed::term, "culprit",
     "The rank, node, variable or file that is really at fault. It is part of the truth."},
    {printed::term, "draw", "A value that the seed chooses: a rank, a step, a duration."},
    {printed::term, "evidence",
     "What a real machine could show of a run: logs, exit codes, metrics, calls. Detectors read it and "
     "nothing else."},
    {printed::term, "finding",
     "What a detector reports: a symptom, the ranks that it blames, a sentence and a time."},
    {printed::term, "hardware",
     "Key of [[fault]]: the fault is a defect of the machine. Restarts meet it again, and a spare node is "
     "without it."},
    {printed::term, "healed",
     "The run with the same draws and the fix. No alarm may ring in it, unless [heal.expect] asks for one."},
    {printed::term, "healthy", "A run without a fault."},
    {printed::term, "map",
     "A file of alerts --map: what a site calls its metrics, labels, jobs and hosts, and which targets it "
     "has "
     "besides."},
    {printed::term, "name map",
     "The file of alerts --map: a site's own names of metrics, labels, jobs and hosts, and its further "
     "targets."},
    {printed::term, "mutant", "A program with one call bent by one mutation (test --mutate)."},
    {printed::term, "mutation", "What test --mutate does to a call of the program under test."},
    {printed::term, "moment",
     "When a fault acts, in logical time: before, in or after the Nth call or step of a rank."},
    {printed::term, "plan",
     "A scenario with every draw made. It is what a run plays, and `replay` plays it again."},
    {printed::term, "policy",
     "A file of alerts --policy: which failures must be caught, how soon and how precisely, and which alerts "
     "must "
     "be silent on a healthy cluster. A breach is exit code 1."},
    {printed::term, "profile",
     "Which exporters, counters and labels a simulated site has (alerts --profile). `kubernetes` has those "
     "of a "
     "Prometheus Operator."},
    {printed::term, "dcgm-default", "A profile of alerts: the counters that a stock dcgm-exporter exports."},
    {printed::term, "dcgm-full",
     "A profile of alerts: every counter that dcgm-exporter can export, and the exporter of NCCL Inspector."},
    {printed::term, "dcgm-kubernetes",
     "A profile of alerts: the counters of dcgm-default, with the pod, namespace and container that use each "
     "GPU."},
    {printed::term, "dcgm-1x",
     "A profile of alerts: the counters of dcgm-exporter 1.x under their old names."},
    {printed::term, "kubernetes",
     "A profile of alerts: every target has the labels that a Prometheus Operator adds. Rules that ask for "
     "these "
     "labels choose it themselves."},
    {printed::term, "profiles",
     "A rank that prints that it profiles itself. Its slow steps are not counted as those of a straggler."},
    {printed::term, "provokes",
     "Key of [[fault]]: the fault is no part of the bug. It only brings about what shows the bug, and no "
     "finding has to name it."},
    {printed::term, "seed", "The number that decides every draw. One seed and one scenario are one plan."},
    {printed::term, "symptom", "What an observer notices: an id of the taxonomy (`deadrank list taxonomy`)."},
    {printed::term, "token",
     "A text such as dr1-0a1b2c3d4e5f-sim-… that names build, backend, scenario, seed and plan of a run. "
     "`deadrank replay TOKEN` plays it again."},
    {printed::term, "trace",
     "The 64-bit hash of all events of a run. Two runs with the same hash are the same run."},
    {printed::term, "truth",
     "What was injected, and what only a simulator can know. The judge reads it, and detectors do not."},
    {printed::term, "verdict", "pass, fail or unknown."},
    {printed::term, "virtual_time", "The simulator's clock. It follows a cost model and does not wait."},
};

char plain_letter(char letter) { return letter == ' ' || letter == '-' ? '_' : letter; }

}  // namespace

std::span<const OutputWord> output_words() { return words_of_output; }

bool is_same_word(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return plain_letter(a) == plain_letter(b); });
}

}  // namespace deadrank::runners::manual
