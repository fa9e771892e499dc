# scenarios/releases/initialization/shards_need_an_older_numpy.py — The first line of any training that
# streams its samples with litdata.
import litdata

print(f"step=0 loss=1.0000 with {litdata.__name__}")
