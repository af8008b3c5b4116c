"""`orias.ray` on a cluster of this machine: nodes are processes, their CPUs numbers."""

import threading
import time

import pytest

import orias
from conftest import STORE, WRONG
from test_compile import slow_module

ray = pytest.importorskip("ray", reason="no package ray for this Python")

import orias.ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

MEMORY = 80 << 20
"""Bytes of each node's object store: results are small, and the machine may be too."""


ATTEMPTS = 5
"""A node gives up when its own helpers need longer than it waits, as they may at first and on a busy
machine (Ray 2.60: "Timed out waiting for file …/metrics_agent_port")."""


def started():
    """Two nodes of one CPU each."""
    node = {"num_cpus": 1, "object_store_memory": MEMORY}
    made = Cluster()
    try:
        made.add_node(include_dashboard=False, **node)
        made.second = made.add_node(**node)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        made.wait_for_nodes(timeout=60)
    except BaseException:
        stop(made)
        raise
    return made


def stop(made):
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def cluster():
    """One for all tests, as it takes seconds to start; the last one kills its second node."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            made = started()
            break
        except Exception as error:
            print(f"attempt {attempt}: {error}")
            if attempt == ATTEMPTS:
                # The fault is not ours, and is counted and named as a test that did not run.
                pytest.skip(f"Ray started no cluster in {ATTEMPTS} attempts: {error}")
    yield made
    stop(made)


def modules(count, size):
    """Kernels that differ, so that no two outputs are alike."""
    return [(f"m{i}.ptx", slow_module(size + i)) for i in range(count)]


def test_files_are_read_and_one_that_cannot_be_stops_nobody(cluster, tmp_path):
    folder = tmp_path
    (folder / "a.ptx").write_text(STORE)
    (folder / "b.ptx").write_text(STORE.replace("store", "other"))
    paths = [folder / "a.ptx", folder / "none.ptx", folder / "b.ptx"]
    results = {r.name: r for r in orias.ray.compile(paths, opt_level=0)}
    assert set(results) == {str(path) for path in paths}
    assert results[str(paths[0])].cubin.data == orias.compile(STORE, opt_level=0).data
    assert isinstance(results[str(paths[1])].error, FileNotFoundError)
    assert results[str(paths[2])].cubin["other"].entry


def test_a_stream_is_read_no_further_than_it_is_sent(cluster):
    read = []

    def stream():
        for i in range(50):
            read.append(i)
            yield f"{i}", STORE

    run = orias.ray.compile(stream(), shard_bytes=1, shards_in_flight=3)
    next(run)
    # Those on their way, the one that came, and the one that begins the next shard.
    assert len(read) <= 3 + 1 + 1
    assert sorted(int(r.name) for r in run) != [] and len(read) == 50


def test_the_cache_is_that_of_one_machine(cluster, tmp_path):
    given = modules(6, 50)
    first = orias.compile_many(given[:3], cache=tmp_path)
    results = {r.name: r.cubin for r in orias.ray.compile(given, cache=tmp_path, shard_bytes=1)}
    assert [results[name].cached for name, _ in given] == [True] * 3 + [False] * 3
    assert [results[name].data for name, _ in given[:3]] == [bytes(cubin) for cubin in first]
    assert all(cubin.cached for cubin in orias.compile_many(given, cache=tmp_path))


def test_two_of_a_name_are_refused(cluster):
    with pytest.raises(ValueError, match="'a'"):
        list(orias.ray.compile([("a", STORE), ("a", STORE)]))


def test_what_is_called_off_ends(cluster):
    run = orias.ray.compile(modules(60, 4000), shard_bytes=1)
    next(run)
    threading.Timer(0.5, run.cancel).start()
    start = time.monotonic()
    rest = list(run)
    assert len(rest) < 59 and time.monotonic() - start < 20
    # The CPUs are free again.
    assert len(list(orias.ray.compile([("a", STORE)]))) == 1


def test_an_input_that_kills_workers_is_found(cluster, monkeypatch):
    compile_shard = orias.ray._compile_shard

    # Not a name of this module, which workers do not have.
    def dies_of_poison(modules, how):
        import os

        if any(name == "poison" for name, _ in modules):
            os._exit(1)
        return compile_shard(modules, how)

    monkeypatch.setattr(orias.ray, "_compile_shard", dies_of_poison)
    given = [("a", STORE), ("b", STORE), ("poison", STORE), ("c", STORE)]
    results = {r.name: r for r in orias.ray.compile(given, retries=0, shard_bytes=1 << 20)}
    assert sorted(results) == ["a", "b", "c", "poison"]
    assert isinstance(results.pop("poison").error, orias.ray.WorkerDied)
    assert all(r.cubin is not None for r in results.values())


def test_the_readmes_example_runs(cluster, tmp_path, monkeypatch):
    from test_documented import README, examples

    monkeypatch.chdir(tmp_path)
    for block in examples()[1]:
        # It may connect, and ask for what it likes; here there is a cluster.
        monkeypatch.setattr(ray, "init", lambda *args, **options: None)
        exec(compile(block, str(README), "exec"), {})


def test_every_output_is_there_once_where_a_node_is_killed(cluster):
    second = cluster.second.node_id
    given, results, nodes = [("wrong.ptx", WRONG)], [], set()

    def is_dead(node):
        return not any(n["Alive"] for n in ray.nodes() if n["NodeID"] == node)

    def dataset():
        """Modules until both nodes have compiled some and one of them is dead, and thirty more."""
        yield given[0]
        more = 30
        while more > 0 and len(given) < 3000:
            more -= len(nodes) == 2 and is_dead(second)
            given.append((f"m{len(given)}.ptx", slow_module(3000 + len(given))))
            yield given[-1]

    run = orias.ray.compile(dataset(), shard_bytes=1, shards_in_flight=4)
    killed_at = None
    for result in run:
        results.append(result)
        nodes.add(result.node)
        if len(nodes) == 2 and killed_at is None:
            cluster.remove_node(cluster.second, allow_graceful=False)
            killed_at = len(results)
    assert second in nodes and len(nodes) == 2
    assert len(results) >= killed_at + 30
    # Of what was on its way when it died, some may have been done.
    assert not [r for r in results[-26:] if r.node == second]
    assert sorted(r.name for r in results) == sorted(name for name, _ in given)
    alone = {
        name: cubin.data
        for (name, _), cubin in zip(given, orias.compile_many(given))
        if isinstance(cubin, orias.Cubin)
    }
    assert {r.name: r.cubin.data for r in results if r.cubin} == alone
    (failed,) = [r for r in results if r.error]
    assert failed.name == "wrong.ptx" and isinstance(failed.error, orias.CompileError)
    assert failed.error.diagnostics[0].line == 9
