// scenarios/program/program_examples.cpp — Each shows one way from a report to a file: a buggy line that a
// block leaves out, a decision that a heal takes in common, a race, a checkpoint of another job.
#include "scenarios/program/program_examples.h"

namespace deadrank::scenarios::program {

namespace {

constexpr std::string_view metric = R"toml(
# A metric is averaged on each rank before it is gathered. The last rank fills its batch up with samples from
# the beginning, and nothing can cut them off any more once they are part of a mean.
format = 1

[bug]
stage = "computation"
symptom = "wrong_intermediate_value"
cause = "uneven_work_or_data_partition"
fix = "framework_logic_correction"

[cluster]
gpus_per_node = 4

[workload]
kind = "program"
steps = 6
setup = '''
per_rank = (total + world_size - 1) // world_size    # the last rank has fewer of its own
'''
step = '''
phase("forward")
compute("20ms")
mine = [(rank * per_rank + i) % total for i in range(per_rank)]
scores = tensor([float(sample + step) for sample in mine])

phase("reduce")
if block("metric.gather_samples"):       # right: gather, cut off what was filled up, then average
    metric = cat(all_gather(scores))[:total].mean()
else:                                    # the report's: average, then gather
    metric = cat(all_gather(tensor([scores.mean()]))).mean()

loss(1.0 / (step + 1))
check("metric", metric, (total - 1) / 2 + step)      # by its definition, from the samples alone
'''

[workload.let]                           # names that the program reads; a list is a choice of the seed
total = [9, 10]

[[fault]]
kind = "skip_block"                      # the fault acts on the program's own name
rank = "all"
block = "metric.gather_samples"

[expect]
symptom = "wrong_intermediate_value"
blames = []
within = "30s"
others = "none"
reaction = "complete"

[expect.because]
blames = "all ranks average too early"

[heal]
fault = "none"
says = "samples are gathered, and averaged when those that were filled up are cut off"
as_control = "the right code is the control's"
)toml";

constexpr std::string_view retry = R"toml(
# A save fails on one rank, which tries again. Whether to try again is decided by each rank alone, so the
# barrier behind the save is met by all others only.
format = 1

[bug]
stage = "fault_tolerance"
symptom = "collective_deadlock_hang"
cause = "rank_divergent_control_flow"
fix = "validation_and_failure_handling"

[cluster]
gpus_per_node = 4
watchdog = false

[workload]
kind = "program"
steps = 8
setup = '''
weights = ones(16)

def saved_to(path):
    if not block("disk.answers"):
        log(f"rank {rank}: [Errno 5] Input/output error: '{path}'", level="warning")
        return False
    save({"step": step, "weights": weights}, path)
    return True
'''
step = '''
phase("forward")
compute("40ms")
phase("reduce")
all_reduce(weights, op="avg")
loss(weights.mean())

if step % 4 == 3:
    phase("checkpoint")
    done = saved_to(f"node{node}/step{step}/rank{rank}")
    if together:                         # the fix: all know whether one of them failed
        failed = tensor([0 if done else 1])
        all_reduce(failed, op="max")
        done = failed[0] == 0
    if done:
        barrier()
    else:
        sleep("1s")
        saved_to(f"node{node}/step{step}/again{rank}")
        if together:
            barrier()
'''

[workload.let]
together = false

[[fault]]
kind = "skip_block"
rank = "any"
block = "disk.answers"
when = { step = 3 }

[expect]
symptom = "collective_deadlock_hang"
blames = ["rank"]
within = "3m"
also = ["collective_mismatch_error"]
reaction = "any"

[expect.because]
reaction = "nobody bounds the wait, which is part of the bug"

[heal]
fault = "keep"                           # the disk fails as before
says = "ranks agree whether to save again"

[heal.workload.let]
together = true
)toml";

constexpr std::string_view race = R"toml(
# Gradients are reduced while backward goes on, all of them in one buffer. The hook that copies a gradient
# into the buffer does not wait for the reduction of the one before, which still reads there.
format = 1

[bug]
stage = "computation"
symptom = "wrong_intermediate_value"
cause = "stream_or_buffer_race"
fix = "framework_logic_correction"

[cluster]
gpus_per_node = 4

[workload]
kind = "program"
steps = 4
setup = '''
class Layer:
    def __init__(self, size):
        self.weight = zeros(size)
        self.weight.grad = zeros(size)
        self.hooks = []

    def backward(self, number):
        self.weight.grad.fill_(float(number + rank + step))
        for hook in self.hooks:
            hook(self)

buffer = zeros(16)
under_way = []

def take_result():
    layer, work = under_way.pop()
    work.wait()
    layer.weight.grad.copy_(buffer)

def reduce_in_buffer(layer):
    if under_way and block("buffer.wait"):    # right: the buffer is filled again when it has been read
        take_result()
    buffer.copy_(layer.weight.grad)
    under_way.append([layer, all_reduce(buffer, op="avg", async_op=True)])

layers = [Layer(16) for i in range(3)]
for layer in layers:
    layer.hooks.append(reduce_in_buffer)
'''
step = '''
phase("backward")
for number in reversed(range(len(layers))):
    compute("5ms")
    layers[number].backward(number)
phase("reduce")
while under_way:
    take_result()
for number, layer in enumerate(layers):
    check(f"gradient{number}", layer.weight.grad.mean(), number + step + (world_size - 1) / 2)
loss(1.0 / (step + 1))
'''

[[fault]]
kind = "skip_block"
rank = "all"
block = "buffer.wait"
when = { step = 1 }

[expect]
symptom = "wrong_intermediate_value"
blames = []
within = "30s"
others = "none"
reaction = "complete"

[expect.because]
blames = "all ranks overwrite their buffers alike"

[heal]
fault = "none"
says = "a buffer is filled again when its reduction has been waited for"
as_control = "the right code is the control's"
)toml";

constexpr std::string_view grown = R"toml(
# A job of 4 ranks has saved the state of each rank's random numbers. It goes on with 8: a rank that finds no
# file of its own takes that of rank 0, and draws the same numbers.
format = 1

[bug]
stage = "fault_tolerance"
symptom = "wrong_intermediate_value"
cause = "rng_or_seed_coordination_error"
fix = "data_and_state_integrity_repair"

[cluster]
nodes = 1
gpus_per_node = 8

[workload]
kind = "program"
steps = 4
earlier_ranks = 4
earlier = '''
noise = Generator(1000 + rank)
noise.randperm(8)
save({"rng": noise.get_state()}, f"run/rng_{rank}")
if rank == 0:
    save({"step": 40, "weights": full([8], 2.5)}, "run/model")
'''
setup = '''
weights = load("run/model")["weights"]
restored("weights", weights.mean(), 2.5)
noise = Generator(1000 + rank)
if exists(f"run/rng_{rank}"):
    noise.set_state(load(f"run/rng_{rank}")["rng"])
elif not block("rng.seed_new_ranks"):    # the report's: the one state that all can find
    noise.set_state(load("run/rng_0")["rng"])
'''
step = '''
phase("forward")
compute("20ms")
drawn = noise.randint(1000000)
phase("reduce")
alike = [other for other in all_gather(tensor([drawn])) if other.item() == drawn]
check("ranks_with_this_number", len(alike), 1)
loss(weights.mean() / (step + 1))
'''

[[fault]]
kind = "skip_block"
rank = "all"
block = "rng.seed_new_ranks"

[expect]
symptom = "wrong_intermediate_value"
blames = ["rank"]
rank = [0, 4, 5, 6, 7]
within = "30s"
others = "none"
reaction = "complete"

[heal]
fault = "none"
says = "ranks without a file of their own begin with a seed of their own"
as_control = "the right code is the control's"
)toml";

}  // namespace

const std::array<Example, 4>& examples() {
    static constexpr std::array<Example, 4> all = {
        {{"metric_averaged_before_the_gather", "A wrong value that no call shows", metric},
         {"ranks_decide_apart_whether_to_save_again", "A decision that each rank takes alone", retry},
         {"buffer_filled_while_it_is_reduced", "A race with calls that do not wait", race},
         {"new_ranks_share_one_random_state", "A checkpoint that fewer ranks saved", grown}}};
    return all;
}

std::string_view first_text() {
    return R"toml(# What each rank does, in a strict part of Python; `deadrank explain program`.
setup = '''
weights = ones(size)
'''
step = '''
phase("forward")
compute("50ms")
gradient = weights * 0 + (rank + 1)
phase("reduce")
if block("gradient.reduce"):             # a fault leaves it out: skip_block block = "gradient.reduce"
    all_reduce(gradient, op="avg")
phase("optimizer")
weights = weights - gradient * seam("learning_rate", 0.01)    # … or bends it: bend_value
loss(weights.mean())
digest("weights", weights)               # what replicas should hold alike
'''
let = { size = 16 }                      # names that the program reads; [2, 4] is drawn
)toml";
}

}  // namespace deadrank::scenarios::program
