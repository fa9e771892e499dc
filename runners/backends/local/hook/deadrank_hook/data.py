# runners/backends/local/hook/deadrank_hook/data.py — Which samples a rank draws, and what it was told about
# its share of them.
import collections
import functools
import inspect
import time

from .shares import Shares


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
    next_index, following, reset = iterator._next_index, iterator.__next__, iterator._reset
    shares = hook.shares = Shares(hook)

    @functools.wraps(next_index)
    def watched_index(self):
        index = next_index(self)
        asked = self.__dict__.setdefault("deadrank_asked", collections.deque())
        samples = index if isinstance(index, list) else [index]
        known = samples and all(isinstance(sample, int) for sample in samples)
        asked.append((shares.of(self, samples), samples) if known else None)
        return index

    @functools.wraps(reset)
    def watched_reset(self, *args, **settings):
        self.__dict__.pop("deadrank_asked", None)  # what the pass before asked for in advance
        return reset(self, *args, **settings)

    @functools.wraps(following)
    def watched_next(self):
        first = getattr(self, "_num_yielded", 1) == 0
        if hook.training.evaluates():
            hook.training.aside()
            batch = following(self)
            shares.passed_over(self, batch, first)
            return batch
        if first and "groups" not in hook.plan:
            # A loader restarts, perhaps with its workers: that time belongs to no step.
            hook.training.aside()
            batch = following(self)
            hook.training.new_work()
            shares.came(self, batch, True)
            return batch
        begins = hook.training.new_work()
        hook.training.phase("data")
        began = time.monotonic_ns()
        try:
            batch = following(self)
            hook.training.batch_came(self, time.monotonic_ns() - began)
            shares.came(self, batch, first)
            return batch
        except StopIteration:
            shares.ended(self)
            if begins:
                hook.training.no_work()
            raise
        finally:
            hook.training.phase("")

    iterator._next_index, iterator.__next__, iterator._reset = watched_index, watched_next, watched_reset
