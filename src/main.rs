//! The program: see `orias::cli`.
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A compile of a small kernel takes a millisecond, and the standard library's way to `main` would be a tenth of it: it reads the
/// process's memory map, to name an overflow of the stack. Its way out writes what is left of standard output.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[unsafe(no_mangle)]
extern "C" fn main() -> std::ffi::c_int {
    std::process::exit(orias::cli::main().into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    std::process::exit(orias::cli::main().into())
}
