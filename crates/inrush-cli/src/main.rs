//! The binary `inrush`.

use std::process::ExitCode;

/// mimalloc returns freed memory to the system. glibc keeps it in each thread's arena: over 118 GB
/// of input the process grew from 104 to 254 MiB (`bench/runs/2026-11-21-memory/README.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The time for which mimalloc keeps freed memory before it returns it to the system, ms. With the
/// default of 1000 the process held twice the memory at full speed
/// (`bench/runs/2026-11-23-allocator/loads.txt`), with 10 a quarter of the processor time of a load
/// of vectors went into page faults (`bench/runs/2026-11-30-vectors/allocator.txt`).
const KEEP_FREED_MS: std::ffi::c_long = 100;

/// The index of `mi_option_purge_delay` in `mi_option_t` of mimalloc.h, versions 2 and 3. The crate
/// has no name for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        give_back_after(KEEP_FREED_MS);
    }
    ExitCode::from(inrush_cli::run(std::env::args_os().collect()))
}

#[allow(unsafe_code)]
fn give_back_after(ms: std::ffi::c_long) {
    // SAFETY: the call stores a number in a table that has this index. No other thread has started.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, ms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    #[test]
    fn the_allocator_s_option_is_the_delay() {
        let neighbour = libmimalloc_sys::mi_option_use_numa_nodes;
        let value = |option| {
            // SAFETY: the call reads a number from a table that has this index.
            unsafe { libmimalloc_sys::mi_option_get(option) }
        };
        if std::env::vars_os().any(|(name, _)| name.to_string_lossy().to_ascii_lowercase().starts_with("mimalloc_")) {
            return;
        }
        assert_eq!(
            (value(PURGE_DELAY), value(neighbour)),
            (1000, 0),
            "mimalloc's default delay, 1000 ms, and the option beside it"
        );
        give_back_after(KEEP_FREED_MS);
        assert_eq!((value(PURGE_DELAY), value(neighbour)), (KEEP_FREED_MS, 0));
    }
}
