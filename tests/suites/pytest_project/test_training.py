# tests/suites/pytest_project/test_training.py — The fixture, in a test of one's own.


def test_a_lost_rank_is_named(deadrank):
    outcome = deadrank.run("communication/rank_leaves_all_reduce", seeds="1..3")
    assert outcome.passed
    assert all(trial["findings"][0]["blame"]["ranks"] for trial in outcome.trials)
