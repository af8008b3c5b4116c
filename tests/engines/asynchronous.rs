//! Asynchronous copies, barriers in shared memory, tensor maps and clusters: what ptxas makes of
//! them gives in the simulator what the PTX ISA says, whether copies are done at their issue or as
//! late as the wait that completes them.

use orias::driver::{self, CompileOptions};
use orias::launch::{Argument, Buffer, Launch, Scalar, parse_tensor};
use orias::simulate::simulate;
use orias_isa::reference;
use orias_runner::oracle::tool;
use orias_targets::simulator::{Completion, Limits};
use std::sync::OnceLock;

/// All kernels: each is `(u64 in, u64 out, u32 n)`, and runs with 32 threads if its test says
/// nothing else.
const MODULE: &str = include_str!("asynchronous.ptx");

/// The module by our compiler at all levels, and by ptxas at -O3 and -O0 where it is at hand.
fn cubins() -> &'static [(String, Vec<u8>)] {
    static CUBINS: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    // Asked for by each test, which is counted as skipped without it.
    let ptxas = tool("ptxas");
    CUBINS.get_or_init(|| {
        let mut all = Vec::new();
        for opt_level in 0..=3 {
            let options =
                CompileOptions { opt_level, verify_each: true, threads: 1, ..Default::default() };
            let output = driver::compile_source(MODULE, &options).expect("orias compiles it");
            all.push((format!("orias -O{opt_level}"), output.cubin));
        }
        let Some(ptxas) = ptxas else { return all };
        for level in ["-O3", "-O0"] {
            let cubin = reference::ptxas(&ptxas, "sm_90a", MODULE, &[level]);
            all.push((format!("ptxas {level}"), cubin.unwrap_or_else(|e| panic!("{e}"))));
        }
        all
    })
}

/// A launch of a kernel on words.
#[derive(Clone)]
struct Run {
    kernel: &'static str,
    grid: u32,
    block: u32,
    cluster: Option<u32>,
    input: Vec<u32>,
    words: usize,
    n: u32,
    /// A fourth argument.
    map: Option<&'static str>,
}

fn of(kernel: &'static str) -> Run {
    let input = (0..1024).map(|i| i * 3 + 1).collect();
    Run { kernel, grid: 1, block: 32, cluster: None, input, words: 32, n: 0, map: None }
}

impl Run {
    fn go(&self, cubin: &[u8], completion: Completion) -> Result<Vec<u32>, String> {
        let bytes = self.input.iter().flat_map(|w| w.to_le_bytes()).collect();
        let input = Buffer { bytes, writable: true, output: None };
        let output = Buffer { bytes: vec![0; 4 * self.words], writable: true, output: None };
        let map = self.map.map(|text| Argument::Tensor(parse_tensor(text).unwrap()));
        let launch = Launch {
            entry: self.kernel.to_string(),
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            cluster: self.cluster.map(|n| [n, 1, 1]),
            dynamic_shared: 0,
            args: [
                Argument::Buffer(input),
                Argument::Buffer(output),
                Argument::Scalar(Scalar::U32(self.n)),
            ]
            .into_iter()
            .chain(map)
            .collect(),
        };
        let limits = Limits { warp_instructions: 200_000, completion, ..Limits::default() };
        let outcome = simulate(cubin, &launch, limits).map_err(|error| error.to_string())?;
        let words = outcome.buffers[1].chunks_exact(4);
        Ok(words.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// All ways to run it give the same.
    fn gives(&self, want: &[u32]) {
        for (by, cubin) in cubins() {
            for completion in [Completion::AtWait, Completion::AtIssue] {
                let got = self.go(cubin, completion);
                assert_eq!(got.as_deref(), Ok(want), "{} {by} {completion:?}", self.kernel);
            }
        }
    }

    /// What it gives with copies done at the wait, and at the issue.
    fn both(&self) -> impl Iterator<Item = [Vec<u32>; 2]> + use<'_> {
        let run = |cubin: &[u8]| {
            [Completion::AtWait, Completion::AtIssue].map(|c| self.go(cubin, c).unwrap())
        };
        cubins().iter().map(move |(_, cubin)| run(cubin))
    }

    fn fails(&self, with: &str) {
        for (by, cubin) in cubins() {
            let error = self.go(cubin, Completion::AtWait).unwrap_err();
            assert!(error.contains(with), "{} {by}: {error}", self.kernel);
        }
    }
}

/// The input's words.
fn word(i: u32) -> u32 {
    i * 3 + 1
}

const UNWRITTEN: u32 = 0xa5a5_a5a5;

#[test]
fn cp_async_copies_fills_with_zeros_and_ignores_its_source() {
    // Four words a thread of 16 bytes copied, `tid % 5 * 4` bytes of 16, all but ignored, and 8
    // bytes of 8.
    let mut want = Vec::new();
    for tid in 0..32 {
        want.push(word(4 * tid + 3));
        let count = tid % 5;
        want.extend((0..4).map(|i| if i < count { word(4 * tid + i) } else { 0 }));
        want.push(if tid % 2 == 0 { word(4 * tid) } else { 0 });
        want.push(word(4 * tid + 1));
        want.push(0);
    }
    Run { words: 256, ..of("cp_async_sizes") }.gives(&want);
}

#[test]
fn cp_async_takes_a_cache_policy() {
    let want: Vec<u32> =
        (0..32).map(|tid| if tid % 5 == 4 { word(1) & 0xff } else { word(tid % 5) }).collect();
    Run { n: 1, ..of("cp_async_policy") }.gives(&want);
}

#[test]
fn groups_of_cp_async_end_in_their_order() {
    let want: Vec<u32> = (0..32).flat_map(|tid| [word(tid), word(tid + 32)]).collect();
    Run { words: 64, ..of("cp_async_groups") }.gives(&want);
}

#[test]
fn who_forgets_to_wait_reads_what_was_there_before() {
    for kernel in ["cp_async_forgets", "bulk_forgets"] {
        for [late, early] in of(kernel).both() {
            assert_eq!(late, [UNWRITTEN; 32]);
            assert_eq!(early, (0..32).map(word).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_source_that_is_overwritten_before_it_is_read_shows() {
    // The kernel overwrites shared memory without waiting for the copy out of it.
    for [late, early] in of("bulk_overwrites").both() {
        assert_eq!(late, [7; 32]);
        assert_eq!(early, (0..32).map(word).collect::<Vec<_>>());
    }
    of("bulk_waits_for_reads").gives(&(0..32).map(word).collect::<Vec<_>>());
}

#[test]
fn a_barrier_hears_of_the_copies_of_each_thread() {
    let want: Vec<u32> = (0..32).map(|tid| word(31 - tid)).collect();
    of("cp_async_barrier").gives(&want);
    of("cp_async_barrier_noinc").gives(&want);
}

#[test]
fn arrivals_end_phases_and_states_tell_which() {
    // Pending count before each arrival, whether the phase was complete by state and by both
    // parities, after all arrived.
    let mut want = vec![4, 3, 2, 1];
    want.extend([1, 1, 0, 0]);
    // After a drop the next phase waits for three.
    want.extend([4, 3]);
    of("barrier_states").gives(&{
        want.resize(32, 0);
        want
    });
}

#[test]
fn arrivals_that_may_not_complete_count_one_after_the_other() {
    let want: Vec<u32> = (0..32).map(|tid| 64 - tid).collect();
    of("barrier_no_complete").gives(&want);
}

#[test]
fn bulk_copies_count_their_bytes_at_a_barrier() {
    of("bulk_load").gives(&(0..32).map(word).collect::<Vec<_>>());
}

#[test]
fn bulk_copies_store_and_reduce() {
    let mut want: Vec<u32> = (0..32).map(|i| word(i) + 100).collect();
    want.extend((32..64).map(|i| word(i).min(150)));
    want.extend((64..96).map(|i| word(i) ^ 0xff));
    let input: Vec<u32> = (0..96).map(word).collect();
    Run { words: 96, input, ..of("bulk_store_reduce") }.gives(&want);
}

#[test]
fn threads_with_operands_of_their_own_take_turns() {
    let want: Vec<u32> =
        (0..32).map(|tid| if tid % 5 == 4 { 7 } else { word(4 * tid + 1) }).collect();
    of("each_thread_copies").gives(&want);
}

#[test]
fn threads_of_a_warp_may_have_different_cache_policies() {
    // The second of three adds to zero, and then what was there.
    let want: Vec<u32> = (0..64).map(word).collect();
    Run { words: 64, ..of("policy_by_thread") }.gives(&want);
}

#[test]
fn masks_of_one_warp_are_reduced_apart() {
    let same = |a: u32, b: u32| a % 3 == b % 3 && (a < 16) == (b < 16);
    let of_mask = |tid: u32| (0..32).filter(move |other| same(tid, *other)).map(word);
    let one = |tid| if tid < 16 { of_mask(tid).sum() } else { of_mask(tid).max().unwrap() };
    of("redux_by_mask").gives(&(0..32).map(one).collect::<Vec<u32>>());
}

#[test]
fn bulk_reductions_have_all_operations() {
    let input: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let other = |i: u32| match i {
        0..32 => i.wrapping_mul(0x0100_0193).wrapping_add(5),
        i => (i - 32).wrapping_mul(0x85eb_ca6b).wrapping_add(77),
    };
    let narrow: [fn(u32, u32) -> u32; 5] = [
        |a, b| (a as i32).max(b as i32) as u32,
        |a, b| if a >= b { 0 } else { a + 1 },
        |a, b| if a == 0 || a > b { b } else { a - 1 },
        |a, b| a & b,
        |a, b| a | b,
    ];
    let wide: [fn(u64, u64) -> u64; 3] =
        [|a, b| (a as i64).min(b as i64) as u64, |a, b| a.wrapping_add(b), |a, b| a ^ b];
    let mut want: Vec<u32> =
        (0..40u32).map(|i| narrow[i as usize / 8](input[i as usize], other(i))).collect();
    for i in (40..64).step_by(2) {
        let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let there = pair(input[i as usize], input[i as usize + 1]);
        let value = wide[(i as usize - 40) / 8](there, pair(other(i), other(i + 1)));
        want.extend([value as u32, (value >> 32) as u32]);
    }
    Run { words: 64, input, ..of("bulk_reduce_kinds") }.gives(&want);
}

#[test]
fn halves_are_reduced_one_by_one() {
    // 1.0 + 2.0 and 0.5 + -1.5 in f16.
    let want = [0xbc00_4200; 32];
    Run { input: vec![0x3800_3c00; 32], ..of("bulk_reduce_f16") }.gives(&want);
}

#[test]
fn blocks_of_a_cluster_know_their_places() {
    // Rank, blocks of the cluster, its number, number of clusters, whether it was asked for.
    let place =
        |block: u32, size: u32, explicit| [block % size, size, block / size, 6 / size, explicit];
    for (cluster, size, explicit) in
        [(None, 1, 0), (Some(1), 1, 1), (Some(2), 2, 1), (Some(3), 3, 1), (Some(6), 6, 1)]
    {
        let want: Vec<u32> = (0..6).flat_map(|block| place(block, size, explicit)).collect();
        Run { grid: 6, block: 1, cluster, words: 30, ..of("cluster_places") }.gives(&want);
    }
}

#[test]
fn a_kernel_says_the_shape_of_its_clusters() {
    Run { grid: 4, block: 1, words: 4, ..of("cluster_required") }.gives(&[0, 1, 0, 1]);
    let wrong = Run { grid: 4, block: 1, words: 4, cluster: Some(4), ..of("cluster_required") };
    wrong.fails("kernel `cluster_required` needs clusters of 2 x 1 x 1 blocks, not 4 x 1 x 1");
    Run { grid: 3, block: 1, words: 4, ..of("cluster_required") }
        .fails("no whole number of clusters");
}

#[test]
fn blocks_of_a_cluster_reach_each_others_shared_memory() {
    // Each block reads from the next one, whose number in the grid is in the value, and adds to the
    // one after.
    let size = 4;
    let want: Vec<u32> = (0..8u32)
        .flat_map(|block| {
            let (first, rank) = (block / size * size, block % size);
            let next = first + (rank + 1) % size;
            // Value of the next, its rank, sum of what others added, that it is cluster memory and
            // not the block's own.
            [100 + next, (rank + 1) % size, 1000 + (rank + size - 2) % size, 1, 0]
        })
        .collect();
    Run { grid: 8, block: 1, cluster: Some(4), words: 40, ..of("cluster_memory") }.gives(&want);
}

#[test]
fn a_thread_stores_to_another_block_and_its_barrier_counts() {
    let want: Vec<u32> =
        [1, 0].iter().flat_map(|from| (0..32).map(move |i| from * 1000 + i)).collect();
    Run { grid: 2, cluster: Some(2), words: 64, ..of("remote_stores") }.gives(&want);
    // red.async adds to what each thread found.
    let want: Vec<u32> =
        [1, 0].iter().flat_map(|from| (0..32).map(move |i| from * 1000 + 2 * i)).collect();
    Run { grid: 2, cluster: Some(2), words: 64, ..of("remote_reductions") }.gives(&want);
}

#[test]
fn a_barrier_takes_arrivals_from_the_whole_cluster() {
    Run { grid: 4, cluster: Some(4), words: 4, ..of("remote_arrivals") }.gives(&[4, 4, 4, 4]);
}

#[test]
fn one_copy_goes_to_several_blocks() {
    // Blocks 0, 1 and 3 of four.
    let want: Vec<u32> =
        (0..4).flat_map(|rank| (0..32).map(move |i| if rank == 2 { 5 } else { word(i) })).collect();
    Run { grid: 4, cluster: Some(4), words: 128, n: 0b1011, ..of("bulk_multicast") }.gives(&want);
    let wrong = Run { grid: 4, cluster: Some(4), words: 128, n: 0b1_0000, ..of("bulk_multicast") };
    wrong.fails("a copy to the CTAs of mask 0x0010 in a cluster of 4");
}

#[test]
fn a_copy_between_blocks_counts_at_the_barrier_of_the_other() {
    let want: Vec<u32> =
        [32, 0].iter().flat_map(|from| (0..32).map(move |i| word(from + i))).collect();
    Run { grid: 2, cluster: Some(2), words: 64, ..of("bulk_between_blocks") }.gives(&want);
}

/// A tensor of 16 x 8 words, row `y` column `x` being `word(16 y + x)`.
fn element(x: i32, y: i32) -> u32 {
    if (0..16).contains(&x) && (0..8).contains(&y) { word((16 * y + x) as u32) } else { 0 }
}

#[test]
fn a_tile_is_loaded_and_zeros_where_the_tensor_ends() {
    // 8 x 4 words from column 12, row -1 on.
    let want: Vec<u32> = (-1..3).flat_map(|y| (12..20).map(move |x| element(x, y))).collect();
    Run { n: 12, ..of("tensor_load") }.gives(&want);
}

#[test]
fn a_swizzled_tile_has_its_16_bytes_in_another_order() {
    // Rows of 32 bytes in shared memory at a multiple of 128: bit 4 of the address changes with
    // bit 7.
    let want: Vec<u32> = (0..16)
        .flat_map(|unit: u32| {
            let from = unit ^ (unit >> 3 & 1);
            (0..4).map(move |i| element((from % 2 * 4 + i) as i32, (from / 2) as i32))
        })
        .collect();
    Run { words: 64, n: 0, ..of("tensor_swizzled") }.gives(&want);
}

#[test]
fn a_tile_is_stored_and_added_inside_the_tensor_only() {
    let mut want = vec![0; 128];
    for y in 0..3 {
        for x in 12..16 {
            want[16 * y + x] = word((8 * (y + 1) + x - 12) as u32) * 2;
        }
    }
    Run { words: 128, n: 12, ..of("tensor_store") }.gives(&want);
}

#[test]
fn a_launch_makes_tensor_maps() {
    let want: Vec<u32> = (-1..3).flat_map(|y| (12..20).map(move |x| element(x, y))).collect();
    let run = Run { n: 12, map: Some("0,u32,16x8,8x4"), ..of("tensor_argument") };
    run.gives(&want);
    let want: Vec<u32> = (-1..3)
        .flat_map(|y| {
            (12..20).map(move |x| {
                if (0..16).contains(&x) && y >= 0 { element(x, 2 * y) } else { 0x7fff_ffff }
            })
        })
        .collect();
    Run { map: Some("0,f32,16x4,8x4,strides=128,fill=nan"), ..run.clone() }.gives(&want);
    Run { map: Some("0,u32,16x8x1,8x4x1"), ..run.clone() }
        .fails("the instruction copies 2 dimensions, its tensor map has 3");
    Run { map: Some("0,f16,16x8,8x4"), ..run }.fails("deadlock");
}

#[test]
fn im2col_walks_over_the_bounding_box() {
    // Four channels, five pixels, two images; a filter of two taps with one pixel of padding on the
    // left.
    for tap in [0, 1] {
        let want: Vec<u32> = (0..8)
            .flat_map(|pixel| {
                let (image, w) = (pixel / 5, pixel % 5 - 1 + tap);
                (0..4).map(move |c| if w < 0 { 0 } else { word((image * 20 + w * 4 + c) as u32) })
            })
            .collect();
        let map = Some("0,u32,4x5x2,4,im2col=-1:-1:8");
        Run { n: tap as u32, map, ..of("tensor_im2col") }.gives(&want);
    }
}

#[test]
fn misuse_of_barriers_is_told() {
    of("barrier_missing").fails("there is no mbarrier at 0x400: none was initialised");
    of("barrier_too_many").fails("the mbarrier at 0x400: 2 arrivals where the phase waits for 1");
    of("barrier_invalid").fails("there is no mbarrier at 0x400");
    of("barrier_overwritten").fails("the mbarrier at 0x400 was overwritten");
    Run { n: 0, ..of("barrier_count") }.fails("initialised for no count");
}

#[test]
fn waits_for_what_never_comes_end_in_one_error() {
    of("barrier_never").fails("deadlock: no thread can go on");
    of("barrier_never").fails("the mbarrier at 0x400 waits for 1 arrivals and 16 bytes");
    of("barrier_polls").fails("still running after 200000 warp instructions");
    Run { grid: 2, cluster: Some(2), ..of("cluster_alone") }.fails("deadlock");
}

#[test]
fn a_try_that_gives_up_goes_on() {
    of("barrier_gives_up").gives(&[9; 32]);
}

#[test]
fn copies_outside_their_memory_are_told_at_the_copy() {
    Run { n: 1 << 16, ..of("bulk_size") }.fails("UBLKCP");
    Run { n: 1 << 16, ..of("bulk_size") }.fails("out-of-bounds");
    Run { n: 4, ..of("bulk_misaligned") }.fails("misaligned");
}

#[test]
fn multimem_of_one_device_is_plain_memory() {
    let want: Vec<u32> = (0..32).map(|i| word(i) + 5).collect();
    of("multimem").gives(&want);
}

#[test]
fn hints_and_dependent_grids_change_nothing() {
    of("hints").gives(&(0..32).map(word).collect::<Vec<_>>());
}

#[test]
fn parameters_have_generic_addresses() {
    Run { words: 3, block: 1, n: 77, ..of("parameter_addresses") }.gives(&[77, 1, 0]);
}

#[test]
fn elect_takes_one_lane_of_each_mask() {
    let want: Vec<u32> = (0..32).map(|tid| u32::from(tid % 8 == 0)).collect();
    of("elect").gives(&want);
}
