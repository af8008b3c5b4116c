//! The program: see `orias::cli`.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, which the bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Memory that one phase has freed the next one wants: to give it back to the system in between costs more time than many a phase
/// (fifty thousand page faults in a compile of fifty thousand diamonds, and a quarter of its time).
fn keep_freed_memory() {
    // SAFETY: a number in the allocator's table of options.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
}

fn main() -> std::process::ExitCode {
    keep_freed_memory();
    orias::cli::main()
}
