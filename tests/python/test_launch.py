"""`simulate`, `profile`, `disassemble`: numpy in and out, costs, listings, and what is wrong."""

import json
import subprocess

import numpy as np
import pytest

import orias


def scalars(kind, size):
    """A kernel that stores a parameter of some type."""
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .{kind} value) {{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.b{size} %rd2, [value];
    st.global.b{size} [%rd1], %rd2;
    ret;
}}
"""


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreter", "simulator"])
def test_arrays_are_updated_in_place(vecadd, compiled):
    code = (vecadd / "vecadd.ptx").read_text()
    if compiled:
        code = orias.compile(code)
    a, b = (np.fromfile(vecadd / f"n1000.{name}.bin", np.float32) for name in "ab")
    c = np.zeros(1000, np.float32)
    before = a.copy(), b.copy()
    run = orias.simulate(code, "vecadd", 4, (256,), [a, b, c, np.int32(1000)])
    assert c.tobytes() == (vecadd / "n1000.c.expect.bin").read_bytes()
    assert np.array_equal(c, a + b)
    assert np.array_equal(a, before[0]) and np.array_equal(b, before[1])
    assert run.entry == "vecadd" and run.thread_instructions > run.instructions > 100
    assert (run.cycles is not None) == compiled


def test_shapes_and_types_of_arrays_stay(vecadd):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    c = np.zeros_like(a)
    orias.simulate(vecadd / "vecadd.ptx", "vecadd", 1, 32, [a, a.copy(), c, ("s32", 24)])
    assert np.array_equal(c, 2 * a) and c.shape == (2, 3, 4)


@pytest.mark.parametrize(
    "kind, size, value, dtype",
    [
        ("u8", 8, 200, np.uint8),
        ("s16", 16, -5, np.int16),
        ("u32", 32, 2**32 - 1, np.uint32),
        ("s64", 64, -(2**63), np.int64),
        ("f32", 32, 0.1, np.float32),
        ("f64", 64, 0.1, np.float64),
    ],
)
def test_scalars_pass_by_their_type(kind, size, value, dtype):
    for argument in (dtype(value), (kind, value)):
        out = np.zeros(1, dtype)
        orias.simulate(scalars(kind, size), "k", 1, 1, [out, argument])
        assert out[0] == dtype(value)


def test_bytes_and_records_pass_by_value():
    ptx = scalars("b64", 64).replace(".param .b64 value", ".param .align 8 .b8 value[8]")
    record = np.array([(7, 9)], dtype=[("a", np.uint32), ("b", np.uint32)])[0]
    for argument in (record, record.tobytes()):
        out = np.zeros(2, np.uint32)
        orias.simulate(ptx, "k", 1, 1, [out, argument])
        assert out.tolist() == [7, 9]


def test_what_a_kernel_may_not_write_it_does_not(store):
    out = np.zeros(1, np.uint32)
    out.flags.writeable = False
    with pytest.raises(orias.SimulationError) as caught:
        orias.simulate(store, "store", 1, 1, [out, np.uint32(3)])
    assert caught.value.place.line == 9
    assert "st.global.u32" in caught.value.place.instruction
    assert out[0] == 0


def test_what_stops_a_cubin_has_its_place(store):
    empty = np.zeros(0, np.uint32)
    with pytest.raises(orias.SimulationError) as caught:
        orias.simulate(orias.compile(store), "store", 2, (4, 2), [empty, np.uint32(3)])
    place = caught.value.place
    assert place.function == "store" and "STG" in place.instruction
    assert place.line is None and place.offset % 16 == 0
    assert place.block == (0, 0, 0) and place.thread == (0, 0, 0)


def test_a_launch_that_does_not_fit_is_refused(store):
    out = np.zeros(4, np.uint32)
    with pytest.raises(orias.LaunchError, match="stare.*store"):
        orias.simulate(store, "stare", 1, 1, [out, np.uint32(3)])
    with pytest.raises(orias.LaunchError, match="2 parameters"):
        orias.simulate(store, "store", 1, 1, [out])
    with pytest.raises(orias.LaunchError, match="8 bytes"):
        orias.simulate(store, "store", 1, 1, [out, np.uint64(3)])
    with pytest.raises(orias.LaunchError, match="1024"):
        orias.simulate(store, "store", 1, 2048, [out, np.uint32(3)])
    with pytest.raises(ValueError, match="grid"):
        orias.simulate(store, "store", (1, 2, 3, 4), 1, [out, np.uint32(3)])
    with pytest.raises(ValueError, match="order='C'"):
        orias.simulate(store, "store", 1, 1, [out[::2], np.uint32(3)])
    with pytest.raises(ValueError, match="share memory"):
        orias.simulate(store, "store", 1, 1, [out, out[1:]])
    with pytest.raises(ValueError, match="u32"):
        orias.simulate(store, "store", 1, 1, [out, ("u32", -1)])
    with pytest.raises(TypeError, match="argument 1"):
        orias.simulate(store, "store", 1, 1, [out, 3])
    with pytest.raises(orias.CompileError):
        orias.simulate("no PTX", "store", 1, 1)


def test_an_endless_loop_ends_where_it_is_told():
    loop = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    loop += ".visible .entry k() { L: bra L; }"
    with pytest.raises(orias.SimulationError, match="1000") as caught:
        orias.simulate(loop, "k", 1, 1, max_steps=1000)
    assert caught.value.place is None


def test_misuse_is_found_where_it_is_looked_for():
    ptx = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
    .shared .align 4 .b8 s[4];
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.shared.u32 %r1, [s];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""
    out = np.zeros(1, np.uint32)
    assert orias.simulate(ptx, "k", 1, 1, [out]).misuse == ()
    (line,) = orias.simulate(ptx, "k", 1, 1, [out], check=["uninit"]).misuse
    assert "ld.shared" in line
    with pytest.raises(ValueError, match="check"):
        orias.simulate(ptx, "k", 1, 1, [out], check=["all"])


def test_a_profile_is_what_the_program_says(program, vecadd, tmp_path):
    cubin = orias.compile(vecadd / "vecadd.ptx")
    cubin.write(tmp_path / "vecadd.cubin")
    command = [program, "sim", tmp_path / "vecadd.cubin", "--entry=vecadd", "--grid=4"]
    command += ["--block=256", "--hazards=warn", "--json"]
    for name in "ab":
        command += ["--arg", f"in={vecadd}/n1000.{name}.bin"]
    command += ["--arg", f"out=4000:{tmp_path}/c.bin", "--arg", "s32=1000"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    a, b = (np.fromfile(vecadd / f"n1000.{name}.bin", np.float32) for name in "ab")
    c = np.zeros(1000, np.float32)
    profile = orias.profile(cubin, "vecadd", 4, 256, [a, b, c, ("s32", 1000)])
    assert not c.any(), "a profile leaves arrays as they are"
    assert profile.cycles == said["cycles"] > 0
    assert profile.instructions == said["instructions"]
    assert profile.thread_instructions == said["thread_instructions"]
    assert list(profile.hazards) == said["hazards"] == []
    with pytest.raises(orias.CubinError):
        orias.profile(vecadd / "vecadd.ptx", "vecadd", 4, 256, [a, b, c, ("s32", 1000)])


def without_waits(cubin):
    """The same file with no wait for a scoreboard in any word of its code."""
    listing = json.loads(orias.disassemble(cubin, format="json"))
    data = bytearray(cubin.data)
    at = data.find(int(listing_word(listing), 16).to_bytes(16, "little"))
    assert at >= 0
    for word in range(at, at + 16 * len(listing["functions"][0]["instructions"]), 16):
        value = int.from_bytes(data[word : word + 16], "little") & ~(0x3F << 116)
        data[word : word + 16] = value.to_bytes(16, "little")
    return bytes(data)


def listing_word(listing):
    """The first word of the first function."""
    return listing["functions"][0]["instructions"][0]["word"]


def test_a_profile_finds_hazards(store):
    broken = without_waits(orias.compile(store))
    out = np.zeros(1, np.uint32)
    (first, *_) = orias.profile(broken, "store", 1, 1, [out, np.uint32(3)]).hazards
    assert first["kind"] == "raw" and first["first"]["function"] == "store"


def test_a_listing_is_the_programs(program, vecadd, tmp_path):
    cubin = orias.compile(vecadd / "vecadd.ptx")
    cubin.write(tmp_path / "vecadd.cubin")

    def says(*options):
        command = [program, "dis", *options, tmp_path / "vecadd.cubin"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert orias.disassemble(cubin) == says()
    assert orias.disassemble(bytes(cubin), labels=True) == says("--labels")
    assert orias.disassemble(tmp_path / "vecadd.cubin", control=True) == says("--control")
    assert orias.disassemble(cubin, format="cfg") == says("--cfg")
    assert json.loads(orias.disassemble(cubin, format="json")) == json.loads(says("--json"))
    one = orias.disassemble(cubin, functions=["vecadd"])
    assert one == says("--function=vecadd") and len(one) < len(says())


def test_what_is_no_cubin_is_refused(store):
    cubin = orias.compile(store)
    for damaged in (b"", b"\x7fELF", cubin.data[:200]):
        with pytest.raises(orias.CubinError):
            orias.disassemble(damaged)
    with pytest.raises(orias.CubinError, match="load"):
        orias.disassemble(cubin, functions=["load"])
    with pytest.raises(ValueError, match="xml"):
        orias.disassemble(cubin, format="xml")
