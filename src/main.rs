//! The program: see `orias::cli`.
#![cfg_attr(
    all(target_os = "linux", any(target_env = "gnu", target_env = "musl"), not(test)),
    no_main
)]

mod allocator;
#[cfg(all(target_os = "linux", target_arch = "x86_64", any(target_env = "musl", test)))]
mod memory;

use orias::{ahead, nursery};
use orias_components::heap::Counted;
use orias_components::scratch;
#[cfg(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"), not(test)))]
use std::{
    ffi::{CStr, OsStr, c_char, c_int},
    os::unix::ffi::OsStrExt,
};

#[global_allocator]
static ALLOCATOR: Counted<allocator::FewSizes> = Counted(allocator::FewSizes);

/// A compile of a small kernel takes a millisecond, and the standard library's way to `main` would
/// be a twentieth of it: it reads the process's memory map, to name an overflow of the stack. Its
/// way out writes what is left of standard output.
#[cfg(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"), not(test)))]
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, args: *const *const c_char) -> c_int {
    // SAFETY: the program begins once.
    unsafe { nursery::open() };
    scratch::ends_with_process();
    allocator::begin();
    let count = usize::try_from(count).unwrap_or(0);
    // The standard library would know them too, but for musl.
    let args = (1..count).map(|i| {
        // SAFETY: the C library hands `main` so many texts, which end with a zero and stay where
        // they are.
        let arg = unsafe { CStr::from_ptr(*args.add(i)) };
        OsStr::from_bytes(arg.to_bytes()).to_os_string()
    });
    std::process::exit(orias::cli::main(args).into())
}

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"), not(test))))]
fn main() {
    // SAFETY: the program begins once.
    unsafe { nursery::open() };
    scratch::ends_with_process();
    allocator::begin();
    std::process::exit(orias::cli::main(std::env::args_os().skip(1)).into())
}
