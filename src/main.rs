//! The program: see `orias::cli`.
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

mod allocator;

#[global_allocator]
static ALLOCATOR: allocator::FewSizes = allocator::FewSizes;

/// A compile of a small kernel takes a millisecond, and the standard library's way to `main` would
/// be a twentieth of it: it reads the process's memory map, to name an overflow of the stack. Its
/// way out writes what is left of standard output.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[unsafe(no_mangle)]
extern "C" fn main() -> std::ffi::c_int {
    allocator::keep_freed_memory();
    std::process::exit(orias::cli::main().into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    allocator::keep_freed_memory();
    std::process::exit(orias::cli::main().into())
}
