//! The binary `inrush`.

use std::process::ExitCode;

/// glibc keeps what each thread's arena once held: over 118 GB of input the process grew from 104 to 254 MiB
/// (`bench/runs/2026-11-21-memory.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(inrush_cli::run(std::env::args_os().collect()))
}
