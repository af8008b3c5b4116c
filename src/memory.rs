//! `memcpy` and `memmove` of the program that has musl in it. musl's copy by `rep movs`, which
//! takes some thirty cycles to start, and most copies here are of an instruction or less: they were
//! a twentieth of the time of a compile. Backwards musl goes byte by byte.
//!
//! What is at most 128 bytes long is read whole before any of it is written. Longer copies go
//! forward with the last 64 bytes read first, or backward with the first 64: so either may overlap.

use std::arch::global_asm;

/// The two functions under these names.
macro_rules! define {
    ($memcpy:literal, $memmove:literal) => {
        global_asm!(
            ".section .text.memcpy,\"ax\",@progbits",
            ".p2align 5",
            concat!(".globl ", $memcpy),
            concat!(".type ", $memcpy, ",@function"),
            concat!($memcpy, ":"),
            "mov rax, rdi",
            "cmp rdx, 16",
            "jb 2f",
            "cmp rdx, 32",
            "ja 3f",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + rdx - 16]",
            "movups [rdi], xmm0",
            "movups [rdi + rdx - 16], xmm1",
            "ret",
            // Less than 16.
            "2:",
            "cmp edx, 8",
            "jb 4f",
            "mov rcx, [rsi]",
            "mov r8, [rsi + rdx - 8]",
            "mov [rdi], rcx",
            "mov [rdi + rdx - 8], r8",
            "ret",
            "4:",
            "cmp edx, 4",
            "jb 5f",
            "mov ecx, [rsi]",
            "mov r8d, [rsi + rdx - 4]",
            "mov [rdi], ecx",
            "mov [rdi + rdx - 4], r8d",
            "ret",
            "5:",
            "test edx, edx",
            "jz 6f",
            "movzx ecx, byte ptr [rsi]",
            "movzx r8d, byte ptr [rsi + rdx - 1]",
            "mov r9, rdx",
            "shr r9, 1",
            "movzx r10d, byte ptr [rsi + r9]",
            "mov [rdi], cl",
            "mov [rdi + r9], r10b",
            "mov [rdi + rdx - 1], r8b",
            "6:",
            "ret",
            // 33 and more.
            "3:",
            "cmp rdx, 64",
            "ja 7f",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + rdx - 32]",
            "movups xmm3, [rsi + rdx - 16]",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + rdx - 32], xmm2",
            "movups [rdi + rdx - 16], xmm3",
            "ret",
            // 65 and more: the last 64 bytes are in registers from here on.
            "7:",
            "movups xmm4, [rsi + rdx - 64]",
            "movups xmm5, [rsi + rdx - 48]",
            "movups xmm6, [rsi + rdx - 32]",
            "movups xmm7, [rsi + rdx - 16]",
            "cmp rdx, 1024",
            "ja 9f",
            "lea r8, [rdi + rdx - 64]",
            "8:",
            "movups xmm0, [rsi]",
            "movups xmm1, [rsi + 16]",
            "movups xmm2, [rsi + 32]",
            "movups xmm3, [rsi + 48]",
            "movups [rdi], xmm0",
            "movups [rdi + 16], xmm1",
            "movups [rdi + 32], xmm2",
            "movups [rdi + 48], xmm3",
            "add rsi, 64",
            "add rdi, 64",
            "cmp rdi, r8",
            "jb 8b",
            "movups [r8], xmm4",
            "movups [r8 + 16], xmm5",
            "movups [r8 + 32], xmm6",
            "movups [r8 + 48], xmm7",
            "ret",
            // Where starting takes less than what it saves.
            "9:",
            "mov rcx, rdx",
            "rep movsb",
            "ret",
            concat!(".size ", $memcpy, ", . - ", $memcpy),
            ".p2align 5",
            concat!(".globl ", $memmove),
            concat!(".type ", $memmove, ",@function"),
            concat!($memmove, ":"),
            "mov rax, rdi",
            "sub rax, rsi",
            "cmp rax, rdx",
            concat!("jae ", $memcpy),
            "cmp rdx, 128",
            concat!("jbe ", $memcpy),
            // The destination begins within the source.
            "mov rax, rdi",
            "movups xmm4, [rsi]",
            "movups xmm5, [rsi + 16]",
            "movups xmm6, [rsi + 32]",
            "movups xmm7, [rsi + 48]",
            "2:",
            "movups xmm0, [rsi + rdx - 16]",
            "movups xmm1, [rsi + rdx - 32]",
            "movups xmm2, [rsi + rdx - 48]",
            "movups xmm3, [rsi + rdx - 64]",
            "movups [rdi + rdx - 16], xmm0",
            "movups [rdi + rdx - 32], xmm1",
            "movups [rdi + rdx - 48], xmm2",
            "movups [rdi + rdx - 64], xmm3",
            "sub rdx, 64",
            "cmp rdx, 64",
            "ja 2b",
            "movups [rdi], xmm4",
            "movups [rdi + 16], xmm5",
            "movups [rdi + 32], xmm6",
            "movups [rdi + 48], xmm7",
            "ret",
            concat!(".size ", $memmove, ", . - ", $memmove),
            ".text",
        );
    };
}

#[cfg(not(test))]
define!("memcpy", "memmove");
// Beside those of the C library, which the tests compare with.
#[cfg(test)]
define!("orias_memcpy", "orias_memmove");

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        #[link_name = "orias_memcpy"]
        fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
        #[link_name = "orias_memmove"]
        fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8;
    }

    #[test]
    fn it_copies_every_length_and_nothing_beside_it() {
        for count in (0..300).chain([1023, 1024, 1025, 5000]) {
            let from: Vec<u8> = (0..count + 2).map(|i| (i * 7 + 1) as u8).collect();
            let mut to = vec![0xee; count + 2];
            let start = to[1..].as_mut_ptr();
            // SAFETY: both have a byte before and behind so many.
            let end = unsafe { memcpy(start, from[1..].as_ptr(), count) };
            assert_eq!(end, start);
            assert_eq!(to[1..=count], from[1..=count], "{count}");
            assert_eq!((to[0], to[count + 1]), (0xee, 0xee), "{count}");
        }
    }

    #[test]
    fn what_is_moved_may_overlap_either_way() {
        let cases = (1..400).chain([1024, 1025, 3000]);
        for (count, by) in cases.flat_map(|count| [1, 3, 16, 64, 65].map(|by| (count, by))) {
            for (to, from) in [(0, by), (by, 0)] {
                let mut bytes: Vec<u8> = (0..count + by).map(|i| (i * 13 + 5) as u8).collect();
                let mut expected = bytes.clone();
                expected.copy_within(from..from + count, to);
                let start = bytes.as_mut_ptr();
                // SAFETY: all of it lies within the list.
                unsafe { memmove(start.add(to), start.add(from), count) };
                assert_eq!(bytes, expected, "{count} from {from} to {to}");
            }
        }
    }
}
