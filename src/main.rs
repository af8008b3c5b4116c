//! The program: see `orias::cli`.
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, which the bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Memory that one phase has freed the next one wants: to give it back to the system in between costs more time than many a phase
/// (it was some 45,000 page faults in a compile of fifty thousand diamonds).
fn keep_freed_memory() {
    // SAFETY: a number in the allocator's table of options.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

/// A compile of a small kernel takes a millisecond, and the standard library's way to `main` would be a twentieth of it: it reads the
/// process's memory map, to name an overflow of the stack. Its way out writes what is left of standard output.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[unsafe(no_mangle)]
extern "C" fn main() -> std::ffi::c_int {
    keep_freed_memory();
    std::process::exit(orias::cli::main().into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    keep_freed_memory();
    std::process::exit(orias::cli::main().into())
}
