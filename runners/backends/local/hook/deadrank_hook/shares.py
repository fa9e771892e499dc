# runners/backends/local/hook/deadrank_hook/shares.py — Which samples a rank trains on. A batch belongs to the step
# of the forward pass that follows it, however far ahead its loader reads.
import collections
import functools
import os

from . import contents, dealing

EVERY = 16  # of a watched program's later steps, those whose samples are looked at
FIRST = 16  # steps of which all are


class Pass:
    """One time through a loader."""

    def __init__(self, kind):
        self.kind = kind  # of the data: its class and length
        self.waiting = []  # batches that came and were not trained on
        self.ahead = None  # of them, how many the loader has read in advance; None before the first is trained on
        self.beginnings = []  # of the tensors of each that waits, until then
        self.rows = self.count = self.batches = 0
        self.shares, self.length, self.order = None, 0, ""
        self.over = False

    def forget(self):
        self.waiting.clear()
        self.beginnings.clear()


class Shares:
    """Reported for every loader if the manifest says that the ranks share the samples. Else for torch's own sampler
    in training; and for any other loader that deals its samples out, with what each sample holds, since a rank may
    number its samples afresh. A loader that reads the same everywhere reports nothing, unless it shuffles and
    all ranks average their gradients.

    A program may look at a batch without training with it, for its size or a picture. What the program shows
    by itself is therefore held until a step is taken, and forgotten if the sampler begins anew before."""

    def __init__(self, hook):
        from torch.utils.data import DistributedSampler

        self.hook, self.dealer = hook, DistributedSampler
        self.chosen = None  # the kind of the training data
        self.recent = self.trained_on = None  # the pass whose batch came last; the one trained on last
        self.latest = None  # of a pass whose batch is the last that any loader gave, and was not used yet
        self.passed = None  # the last batch that came while the model evaluated, and was not used yet
        self.number, self.taken = -1, -1  # of that pass; optimizer steps when it began
        self.used = False  # whether a batch was trained on since the last step
        self.held, self.later = [], None  # trained on since the last step; the batch that may end a pass
        self.told, self.streamed = None, 0  # batches of a stream's last pass that ended
        self.stated = hook.plan.get("samples") == "shared"
        deal = DistributedSampler.__iter__

        @functools.wraps(deal)
        def watched_deal(sampler):
            sampler.deadrank_dealt = 0
            return deal(sampler)

        DistributedSampler.__iter__ = self.deal = watched_deal

    # --- batches that a loader asks for
    def of(self, iterator, samples):
        batches = getattr(iterator, "_index_sampler", None)
        sampler = getattr(batches, "sampler", None) or batches
        if self.stated:
            epoch = getattr(sampler, "epoch", 0)
            said = {"epoch": epoch, "first": samples[0], "count": len(samples), "samples": listed(samples)}
            self.hook.evidence.write("data.batch", step=self.hook.step, **said)
            return None
        if not self.deals(batches, sampler):
            return None
        return self.dealt(sampler, samples)

    def deals(self, batches, sampler):
        """torch's own sampler, and no wrapper beside it that deals anew. A sampler of one share deals nothing out."""
        return (
            isinstance(sampler, self.dealer)
            and sampler.num_replicas >= min(2, world_size())
            and type(sampler).__iter__ is self.deal
            and type(batches).__module__.split(".")[0] == "torch"
        )

    def dealt(self, sampler, samples):
        """Leaves out the samples that pad the last round: they are duplicates by design."""
        begin = sampler.deadrank_dealt
        sampler.deadrank_dealt += len(samples)
        left = len(sampler.dataset) - sampler.rank - begin * sampler.num_replicas
        own = samples[: max(0, -(-left // sampler.num_replicas))]
        if not own:
            return None
        said = {"first": own[0], "count": len(own), "begins": sampler.epoch}
        if sampler.num_replicas < world_size():  # several ranks compute one share
            said["shares"] = f"{sampler.num_replicas} in 0"
        if sampler.shuffle:
            return {**said, "samples": listed(own)}
        return {**said, "stride": sampler.num_replicas}

    # --- batches that a loader returns
    def passed_over(self, iterator, batch, first):
        """A batch of an evaluation, or the first of training behind one."""
        asked = iterator.__dict__.get("deadrank_asked")
        self.latest, self.passed = None, (iterator, batch, first, asked.popleft() if asked else None)

    def came(self, iterator, batch, first):
        asked = iterator.__dict__.get("deadrank_asked")
        said, samples = (asked.popleft() if asked else None) or (None, None)
        if self.stated or not getattr(iterator, "_in_order", True):
            return
        own = iterator.__dict__.get("deadrank_pass")
        if first or own is None:
            own = iterator.deadrank_pass = Pass(kind_of(iterator))
        if self.chosen is not None and own.kind != self.chosen:
            return
        if self.recent is not None and self.recent is not own and not self.recent.over:
            self.recent.forget()  # looked at, and left
        self.recent = own
        own.count += 1
        if said is None and not self.deals_torch(iterator):
            said = self.read(iterator, own, batch, samples)
        own.waiting.append(said)
        self.latest = own
        if own.ahead is None:
            own.beginnings.append(beginnings_of(batch))

    def deals_torch(self, iterator):
        batches = getattr(iterator, "_index_sampler", None)
        return self.deals(batches, getattr(batches, "sampler", None) or batches)

    def ended(self, iterator):
        own = iterator.__dict__.get("deadrank_pass")
        if own is not None:
            own.over, own.ahead = True, 0
            if not own.batches:
                self.streamed = own.count

    def read(self, iterator, own, batch, samples):
        """What a loader other than torch's sampler's has read. None where it deals nothing out."""
        if own.shares is None:
            own.shares, own.order = self.shares_of(iterator)
            own.length = dealing.length_of(iterator._dataset) if samples else 0
            own.batches = dealing.length_of(getattr(iterator, "_index_sampler", None)) if samples else 0
            if own.batches * len(samples or ()) > own.length - len(samples or ()):
                own.length *= own.shares  # the loader reads all of its data, which is the rank's part
        if not own.shares:
            return None
        own.rows += len(samples or ())
        step = self.hook.step
        if self.hook.watching and step >= FIRST and step % EVERY:
            return None
        if samples and self.may_fill_up(iterator, own, len(samples)):
            return None
        looked_at = contents.of_batch(batch, len(samples) if samples else None)
        if looked_at is None:
            return None
        dataset = iterator._dataset
        ids = [dealing.base_of(dataset, index) for index in samples[: len(looked_at)]] if samples else looked_at
        both = ",".join([f"{number}:{content}" for number, content in zip(ids, looked_at)])
        return {"first": ids[0], "count": len(samples or ids), "samples": both, "shares": f"{own.shares} in {own.batches or self.streamed}{own.order}"}

    def shares_of(self, iterator):
        world = world_size()
        if world < 2:
            return 0, ""
        found, shuffled = dealing.shares_of(iterator, world)
        dealt = found > 1 or (found == 1 and self.averages_over(world))
        return found if dealt else 0, ", shuffled" if shuffled else ""

    def averages_over(self, world):
        """All ranks have one model, and average its gradients."""
        import torch.distributed as dist

        replicas = self.hook.replicas
        groups = [module.process_group for module in replicas.parallel]
        by_hand = [ranks for ranks in replicas.by_hand.values() if ranks]
        return any(dist.get_world_size(group) == world for group in groups) or any(len(one) == world for one in by_hand)

    def may_fill_up(self, iterator, own, count):
        """The last round of a pass is filled up with samples that were read before; a stream without end begins anew
        behind it."""
        if own.shares == 1:
            return False
        if own.rows * own.shares > own.length:
            return True
        whole = own.batches * count * own.shares == own.length
        return not whole and iterator._num_yielded >= own.batches > 0

    # --- batches that the model trains on
    def evaluated(self):
        """The model evaluates the batch that came last. It was set to evaluate when it had the first one."""
        own, self.latest, self.passed = self.latest, None, None
        if own is not None and own.waiting:
            own.waiting.pop()
            del own.beginnings[len(own.waiting) :]

    def forward(self, inputs):
        """A model begins a forward pass of training: of the batch that came first, unless a resumed program has passed
        over what it trained on before."""
        if self.passed is not None:
            iterator, batch, first, asked = self.passed
            self.passed = None
            iterator.__dict__.setdefault("deadrank_asked", collections.deque()).appendleft(asked)
            self.came(iterator, batch, first)
        own = self.recent
        if own is None or (self.chosen is not None and own.kind != self.chosen):
            return
        if own.ahead is None and own.waiting:
            del own.waiting[: count_passed_over(own.beginnings, inputs)]
            own.beginnings.clear()
            own.ahead = len(own.waiting) - 1
        if len(own.waiting) > (own.ahead or 0):
            self.take(own)

    def take(self, own):
        said = own.waiting.pop(0)
        self.latest = None
        del own.beginnings[:1]
        self.used = True
        if self.chosen is None:
            self.chosen = own.kind
        if own is not self.trained_on:
            if self.number < 0:  # after a restart, the sampler's epoch need not be 0
                self.number = (said or {}).get("begins", 0)
            elif self.hook.training.taken != self.taken:
                self.number += 1
            else:
                self.held.clear()
            self.later = None  # the last batch of a stream may be filled up
            self.trained_on, self.taken = own, self.hook.training.taken
        if said is None:
            return
        said = {"step": self.hook.step, "epoch": self.number, **said}
        said.pop("begins", None)
        if own.shares and not own.length:
            said, self.later = self.later, said
        if said is not None:
            self.held.append(said)

    def trained(self):
        own = self.recent
        if not self.used and own is not None and (self.chosen is None or own.kind == self.chosen):
            while len(own.waiting) > (own.ahead or 0):
                self.take(own)
        self.used = False
        held, self.held = self.held, []
        for said in held:
            shares = said.pop("shares", None)
            if shares is not None and shares != self.told:
                self.told = shares
                self.hook.evidence.write("rank.config", name="data.shares", value=shares)
            self.hook.evidence.write("data.batch", **said)


def beginnings_of(value):
    import torch

    return contents.beginnings(value, torch)


def count_passed_over(waiting, inputs):
    """How many of the batches that wait come before the one in `inputs`. Where the model gets other values than the
    loader gave, one batch of two was read ahead, and of more the last is trained on."""
    if len(waiting) < 2:
        return 0
    given = beginnings_of(inputs)
    alike = [len(own & given) for own in waiting]
    if max(alike) and alike.count(max(alike)) == 1:
        return alike.index(max(alike))
    return len(waiting) - 1 if len(waiting) > 2 else 0


def world_size():
    import torch.distributed as dist

    world = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    return max(world, int(os.environ.get("WORLD_SIZE") or 1))


def kind_of(iterator):
    """The same for a loader that is made anew for each epoch, or after a restart."""
    dataset = iterator._dataset
    while hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    return type(dataset).__name__, dealing.length_of(dataset)


def listed(samples):
    return ",".join(map(str, samples))
