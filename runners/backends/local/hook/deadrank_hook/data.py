# runners/backends/local/hook/deadrank_hook/data.py — Which samples a rank draws, and what it was told about
# its share of them.
import functools
import inspect
import time


def watch(hook):
    from torch.utils.data import DistributedSampler, dataloader

    levers = hook.injector.levers
    begin = DistributedSampler.__init__

    @functools.wraps(begin)
    def watched_begin(self, *args, **settings):
        begin(self, *args, **settings)
        told = inspect.signature(begin).bind(self, *args, **settings)
        told.apply_defaults()
        bent = {}
        for seam, name in (
            ("sampler.shard", "rank"),
            ("sampler.replicas", "num_replicas"),
            ("sampler.seed", "seed"),
        ):
            if name == "seed" and not getattr(self, "shuffle", True):
                continue  # nothing is drawn with it
            hook.injector.at(seam)
            bent[name] = levers.bent(seam, getattr(self, name))
        bent["rank"] %= max(1, bent["num_replicas"])
        if bent != {name: getattr(self, name) for name in bent}:
            told.arguments.update(bent)
            begin(*told.args, **told.kwargs)

    DistributedSampler.__init__ = watched_begin
    watch_batch_size(hook, dataloader.DataLoader)
    watch_batches(hook, dataloader)


def watch_batch_size(hook, loader):
    begin = loader.__init__

    @functools.wraps(begin)
    def watched_begin(self, *args, **settings):
        told = inspect.signature(begin).bind(self, *args, **settings)
        told.apply_defaults()
        hook.injector.at("sampler.batch")
        if isinstance(told.arguments.get("batch_size"), int) and told.arguments.get("batch_sampler") is None:
            told.arguments["batch_size"] = max(
                1, int(hook.injector.levers.bent("sampler.batch", told.arguments["batch_size"]))
            )
        begin(*told.args, **told.kwargs)

    loader.__init__ = watched_begin


def watch_batches(hook, dataloader):
    iterator = dataloader._BaseDataLoaderIter
    next_index, following = iterator._next_index, iterator.__next__
    shares = hook.shares = Shares(hook)

    @functools.wraps(next_index)
    def watched_index(self):
        index = next_index(self)
        samples = index if isinstance(index, list) else [index]
        if samples and all(isinstance(sample, int) for sample in samples):
            said = shares.of(self, samples)
            if said:
                shares.drawn({"step": hook.step, **said})
        return index

    @functools.wraps(following)
    def watched_next(self):
        if hook.training.evaluates():
            hook.training.aside()
            return following(self)
        if getattr(self, "_num_yielded", 1) == 0 and "groups" not in hook.plan:
            # A loader restarts, perhaps with its workers: that time belongs to no step.
            hook.training.aside()
            batch = following(self)
            hook.training.new_work()
            return batch
        begins = hook.training.new_work()
        hook.training.phase("data")
        began = time.monotonic_ns()
        try:
            batch = following(self)
            hook.training.batch_came(self, time.monotonic_ns() - began)
            return batch
        except StopIteration:
            if begins:
                hook.training.no_work()
            raise
        finally:
            hook.training.phase("")

    iterator._next_index, iterator.__next__ = watched_index, watched_next


class Shares:
    """Which samples a batch covers: reported for every loader if the manifest says that the ranks share the
    samples; else only for torch's own sampler in training. A loader that numbers its samples afresh on
    every rank, or reads the same everywhere, reports nothing.

    A program may look at a batch without training with it, for its size or a picture. What the program shows
    by itself is therefore held until a step is taken, and forgotten if the sampler begins anew before."""

    def __init__(self, hook):
        from torch.utils.data import DistributedSampler

        self.hook, self.dealer = hook, DistributedSampler
        self.chosen = None  # the sampler of the training data
        self.held = []  # drawn since the last step
        self.stated = hook.plan.get("samples") == "shared"
        deal = DistributedSampler.__iter__

        @functools.wraps(deal)
        def watched_deal(sampler):
            taken, before = hook.training.taken, getattr(sampler, "deadrank_taken", -1)
            if taken != before:
                sampler.deadrank_pass = getattr(sampler, "deadrank_pass", -1) + 1
            elif sampler is self.chosen:
                self.held.clear()
            sampler.deadrank_taken, sampler.deadrank_dealt = taken, 0
            return deal(sampler)

        DistributedSampler.__iter__ = self.deal = watched_deal

    def drawn(self, said):
        if self.stated:
            self.hook.evidence.write("data.batch", **said)
        else:
            self.held.append(said)

    def trained(self):
        held, self.held = self.held, []
        for said in held:
            self.hook.evidence.write("data.batch", **said)

    def of(self, iterator, samples):
        batches = getattr(iterator, "_index_sampler", None)
        sampler = getattr(batches, "sampler", None) or batches
        if self.stated:
            epoch = getattr(sampler, "epoch", 0)
            return {"epoch": epoch, "first": samples[0], "count": len(samples), "samples": listed(samples)}
        if not isinstance(sampler, self.dealer) or type(sampler).__iter__ is not self.deal:
            return None
        if type(batches).__module__.split(".")[0] != "torch" or self.hook.training.evaluates():
            return None
        if self.chosen is None:
            self.chosen = sampler
        return self.dealt(sampler, samples) if sampler is self.chosen else None

    def dealt(self, sampler, samples):
        """Leaves out the samples that pad the last round: they are duplicates by design."""
        begin = sampler.deadrank_dealt
        sampler.deadrank_dealt += len(samples)
        left = len(sampler.dataset) - sampler.rank - begin * sampler.num_replicas
        own = samples[: max(0, -(-left // sampler.num_replicas))]
        if not own:
            return None
        said = {"epoch": sampler.deadrank_pass, "first": own[0], "count": len(own)}
        if sampler.shuffle:
            return {**said, "samples": listed(own)}
        return {**said, "stride": sampler.num_replicas}


def listed(samples):
    return ",".join(map(str, samples))
