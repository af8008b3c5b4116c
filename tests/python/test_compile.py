"""`compile`, `compile_many`, `Compiler`: what comes out, what is wrong, what is called off."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import orias


def program_makes(program, source, folder, *options):
    """The file that the program makes of a source."""
    output = folder / "program.cubin"
    subprocess.run([program, *options, source, "-o", output], check=True, capture_output=True)
    return output.read_bytes()


def slow_module(instructions):
    """A kernel of one long chain, which takes some 20 us an instruction in a quick build."""
    chain = "\n".join(
        f"mad.lo.s32 %r{i % 8 + 1}, %r{(i + 1) % 8 + 1}, %r{(i + 3) % 8 + 1}, {i};"
        for i in range(instructions)
    )
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry chain(.param .u64 out) {{
    .reg .b32 %r<9>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1];
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd1+16];
{chain}
    st.global.v4.u32 [%rd1], {{%r1, %r2, %r3, %r4}};
    st.global.v4.u32 [%rd1+16], {{%r5, %r6, %r7, %r8}};
    ret;
}}
"""


def test_the_file_is_the_programs(program, vecadd, tmp_path):
    source = vecadd / "vecadd.ptx"
    assert bytes(orias.compile(source)) == program_makes(program, source, tmp_path)
    at_zero = orias.compile(source, opt_level=0, fmad=False)
    options = ["-O0", "-fmad=false"]
    assert bytes(at_zero) == program_makes(program, source, tmp_path, *options)
    assert at_zero.opt_level == 0


def test_text_bytes_and_path_give_the_same(vecadd):
    path = vecadd / "vecadd.ptx"
    cubins = [orias.compile(ptx) for ptx in (path, str(path.read_text()), path.read_bytes())]
    assert cubins[0] == cubins[1] == cubins[2]


def test_a_cubin_says_what_became_of_its_functions(store):
    cubin = orias.compile(store)
    assert (cubin.arch, cubin.opt_level, cubin.fell_back) == ("sm_90a", 3, False)
    assert [f.name for f in cubin.functions] == ["store"]
    kernel = cubin["store"]
    assert kernel.entry and kernel.registers >= 4 and kernel.instructions >= 4
    assert (kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.shared_bytes) == (0, 0, 0)
    assert kernel.constant_bytes[0] == 0x210 + 12
    assert kernel.seconds > 0
    with pytest.raises(KeyError):
        cubin["load"]


def test_few_registers_show_as_spills():
    # Stores may change what was loaded: all of it is held meanwhile.
    loads = "".join(f"ld.global.u32 %r{i}, [%rd1+{4 * i}];" for i in range(64))
    stores = "".join(f"st.global.u32 [%rd1+{4 * i}], %r{63 - i};" for i in range(64))
    module = f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data) {{
    .reg .b32 %r<64>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [data];
    {loads}
    {stores}
    ret;
}}
"""
    many, few = (orias.compile(module, max_registers=most)["k"] for most in (None, 24))
    assert many.registers > 64 and few.registers <= 24
    assert (many.spill_store_bytes, many.spill_load_bytes) == (0, 0)
    assert few.spill_store_bytes > 0 and few.spill_load_bytes > 0 and few.frame_bytes > 0


def test_an_error_has_its_place(wrong):
    with pytest.raises(orias.CompileError) as caught:
        orias.compile(wrong, file="dir/wrong.ptx")
    error = caught.value
    (found,) = error.diagnostics
    assert (found.severity, found.file, found.line) == ("error", "dir/wrong.ptx", 9)
    assert found.column == wrong.splitlines()[8].index("%r7") + 1
    assert "%r7" in found.message and "line 9" not in found.message
    caret = found.text.splitlines()[3]
    assert caret.endswith("^^^") and "--> dir/wrong.ptx:9:" in found.text
    assert found.text.rstrip() in str(error)


def test_warnings_do_not_stop_a_compile():
    module = ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .global .u32 x;\n"
    module += ".visible .entry k() { ret; }"
    (warning,) = orias.compile(module).warnings
    assert warning.severity == "warning" and "'x'" in warning.message
    assert warning.line is None


def test_options_that_mean_nothing_are_refused(store):
    for options in [{"arch": "sm_999"}, {"opt_level": 4}, {"max_registers": 23}, {"budget": -1.0}]:
        with pytest.raises(ValueError, match=next(iter(options))):
            orias.compile(store, **options)
    with pytest.raises(orias.CompileError, match="no_such_kernel"):
        orias.compile(store, entries=["no_such_kernel"])
    with pytest.raises(orias.CompileError, match="NoSuchPhase"):
        orias.compile(store, disabled=["NoSuchPhase"])
    with pytest.raises(ValueError, match="line 1, column 13: .*UnrollTimes"):
        orias.compile(store, recipes='{"knobs": {"UnrollTimes": 999}, "kernel": "*"}')
    with pytest.raises(TypeError):
        orias.compile(5)


def test_recipes_are_for_the_kernels_that_they_name(store):
    off = '{"kernel": "stor?", "knobs": {"GeneralOptimization": 0}}'
    usual, least = orias.compile(store), orias.compile(store, recipes=off)
    assert bytes(least) == bytes(orias.compile(store, knobs={"GeneralOptimization": 0}))
    assert bytes(least) != bytes(usual)
    assert bytes(orias.compile(store, recipes=off.replace("stor?", "load"))) == bytes(usual)


def test_a_profile_is_used_for_the_text_that_it_is_of(store):
    out = np.zeros(32, np.uint32)
    seen = orias.simulate(store, "store", 1, 32, [out, ("u32", 7)]).profile
    assert orias.compile(store, use_profile=seen).warnings == ()
    (warning,) = orias.compile(store, use_profile=seen.replace('"text":"', '"text":"0')).warnings
    assert "another text" in warning.message
    with pytest.raises(ValueError, match="use_profile, line 1, column 1: not a profile"):
        orias.compile(store, use_profile="[")


def test_results_of_many_stand_in_order_and_errors_stop_nobody(store, wrong):
    def named(name):
        return store.replace("store", name)

    slow = orias.Options(opt_level=0)
    given = [named("a"), ("b.ptx", wrong), orias.Job(named("c"), options=slow), b"no PTX"]
    results = orias.compile_many(given, threads=2)
    assert results[0]["a"].entry and results[0].opt_level == 3
    assert isinstance(results[1], orias.CompileError)
    assert results[1].diagnostics[0].file == "b.ptx"
    assert results[2]["c"].entry and results[2].opt_level == 0
    assert isinstance(results[3], orias.CompileError)
    assert orias.compile_many([]) == []


def test_threads_and_repetition_change_no_byte(corpus):
    alone = [bytes(cubin) for cubin in orias.compile_many(corpus, threads=1)]
    together = orias.Compiler(threads=4)
    for _ in range(2):
        assert [bytes(cubin) for cubin in together.compile_many(corpus)] == alone
    backwards = together.compile_many(reversed(corpus))
    assert [bytes(cubin) for cubin in reversed(backwards)] == alone


def test_other_threads_of_python_run_meanwhile():
    modules, ticks, done = [slow_module(5000)] * 4, [], threading.Event()

    def count():
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    counter = threading.Thread(target=count)
    counter.start()
    start = time.monotonic()
    while time.monotonic() < start + 0.5:
        orias.compile_many(modules, threads=1)
    end = time.monotonic()
    done.set()
    counter.join()
    meanwhile = [tick for tick in ticks if start < tick < end]
    assert len(meanwhile) > (end - start) / 0.1


def test_what_is_called_off_ends_and_what_is_done_stays(store):
    cancel = orias.Cancel()
    modules = [store] + [slow_module(5000 + i) for i in range(200)]
    timer = threading.Timer(0.3, cancel.cancel)
    timer.start()
    results = orias.compile_many(modules, threads=1, cancel=cancel)
    assert cancel.cancelled
    assert isinstance(results[0], (orias.Cubin, orias.Cancelled))
    assert any(isinstance(result, orias.Cancelled) for result in results)
    with pytest.raises(orias.Cancelled):
        orias.compile(store, cancel=cancel)


def test_ctrl_c_ends_a_long_call():
    # A program that is started in the background may have it ignored, and so would Python.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    modules = [slow_module(5000 + i) for i in range(200)]
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        orias.compile_many(modules, threads=1)
    assert time.monotonic() - start < 5
    signal.signal(signal.SIGINT, before)


def test_a_budget_that_is_over_leaves_a_lower_level():
    hurried = orias.compile(slow_module(300), budget=0)
    assert hurried.fell_back and hurried.opt_level == 0
    assert hurried.data == orias.compile(slow_module(300), opt_level=0).data
    assert not orias.compile(slow_module(300), budget=1e9).fell_back


def in_child(compiler, modules, queue):
    queue.put([bytes(cubin) for cubin in compiler.compile_many(modules)])


def test_a_compiler_works_in_a_process_that_was_forked(corpus):
    compiler = orias.Compiler(threads=2)
    modules = corpus[:4]
    here = [bytes(cubin) for cubin in compiler.compile_many(modules)]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(compiler, modules, queue))
    child.start()
    there = queue.get(timeout=60)
    child.join(timeout=60)
    assert there == here and child.exitcode == 0


def test_results_and_errors_are_pickled(store, wrong):
    cubin, error = orias.compile_many([store, wrong])
    assert pickle.loads(pickle.dumps(cubin)) == cubin
    copy = pickle.loads(pickle.dumps(error))
    assert copy.diagnostics == error.diagnostics and str(copy) == str(error)


def test_a_cache_is_one_with_the_programs(program, vecadd, store, tmp_path):
    cache = tmp_path / "cache"
    made = orias.compile(store, cache=cache)
    again = orias.Compiler(cache=str(cache)).compile(store)
    assert not made.cached and again.cached and made == again
    assert not orias.compile(store, cache=cache, opt_level=1).cached
    command = [program, "batch", "--cache", cache, "--output-dir", tmp_path / "out"]
    subprocess.run([*command, vecadd / "vecadd.ptx"], check=True, capture_output=True)
    assert orias.compile(vecadd / "vecadd.ptx", cache=cache).cached


def test_a_cache_that_cannot_be_written_is_a_warning(store, tmp_path):
    cache = tmp_path / "cache"
    compiler = orias.Compiler(cache=cache)
    cache.rmdir()
    cache.write_text("no folder")
    with pytest.warns(RuntimeWarning, match="cache"):
        assert compiler.compile(store) == orias.compile(store)
    with pytest.raises(OSError):
        orias.Compiler(cache=cache)


def test_a_file_is_written(store, tmp_path):
    cubin = orias.compile(store)
    cubin.write(tmp_path / "store.cubin")
    assert (tmp_path / "store.cubin").read_bytes() == cubin.data
    assert os.listdir(tmp_path) == ["store.cubin"]
