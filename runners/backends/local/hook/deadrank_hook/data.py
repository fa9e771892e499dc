# runners/backends/local/hook/deadrank_hook/data.py — Which samples a rank draws, and what it was told about
# its share of them.
import functools
import inspect


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

    @functools.wraps(next_index)
    def watched_index(self):
        index = next_index(self)
        samples = index if isinstance(index, list) else [index]
        if samples and all(isinstance(sample, int) for sample in samples):
            hook.evidence.write(
                "data.batch",
                step=hook.step,
                epoch=epoch_of(self),
                first=samples[0],
                count=len(samples),
                samples=",".join(map(str, samples)),
            )
        return index

    @functools.wraps(following)
    def watched_next(self):
        hook.training.new_work()
        hook.training.phase("data")
        try:
            return following(self)
        finally:
            hook.training.phase("")

    iterator._next_index, iterator.__next__ = watched_index, watched_next


def epoch_of(iterator):
    sampler = getattr(getattr(iterator, "_index_sampler", None), "sampler", None)
    return getattr(sampler, "epoch", 0)
