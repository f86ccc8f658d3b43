//! Measures how fast NDJSON becomes SMILE on one core, and how large it is. `speed REPEAT FILE…`
//! writes CSV, one line for each file, option and run.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a measurement, not the core"
)]

use std::time::Instant;

use inrush_smile::{Decimals, SmileDecoder, SmileEncoder, SmileOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let repeat: u32 = arguments.next().ok_or("usage: speed REPEAT FILE…")?.parse()?;
    println!(
        "file,direction,shared_values,decimals,run,documents,not_smile,json_bytes,smile_bytes,wall_s,cpu_s,json_mb_per_cpu_s"
    );
    for path in arguments {
        let json = std::fs::read(&path)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        for (shared_values, decimals) in
            [(false, Decimals::ByText), (false, Decimals::ByValue), (true, Decimals::ByText)]
        {
            for run in 0..repeat {
                let mut encoder = SmileEncoder::new(
                    SmileOptions::default().with_shared_values(shared_values).with_decimals(decimals),
                );
                let (mut out, mut documents, mut refused, mut bytes) = (Vec::new(), 0_u64, 0_u64, 0);
                let begin = Clock::start()?;
                for line in memchr_lines(&json) {
                    documents += 1;
                    refused += u64::from(encoder.encode(line, &mut out).is_err());
                    // As in a loader, so that the output stays in the cache.
                    if out.len() > 1 << 19 {
                        bytes += out.len();
                        out.clear();
                    }
                }
                bytes += out.len();
                let (wall, cpu) = begin.seconds()?;
                let speed = json.len() as f64 / 1e6 / cpu;
                println!(
                    "{name},encode,{shared_values},{decimals:?},{run},{documents},{refused},{},{bytes},{wall:.4},{cpu:.4},{speed:.0}",
                    json.len()
                );
            }
        }
        let mut encoder = SmileEncoder::new(SmileOptions::default().with_decimals(Decimals::ByValue));
        let mut smile = Vec::new();
        let mut documents = 0;
        for line in memchr_lines(&json) {
            documents += u64::from(encoder.encode(line, &mut smile).is_ok());
        }
        for run in 0..repeat {
            let mut decoder = SmileDecoder::default();
            let (mut out, mut bytes, mut at) = (Vec::new(), 0, 0);
            let begin = Clock::start()?;
            while at < smile.len() {
                at += decoder.decode(&smile[at..], &mut out)?;
                if out.len() > 1 << 19 {
                    bytes += out.len();
                    out.clear();
                }
            }
            bytes += out.len();
            let (wall, cpu) = begin.seconds()?;
            let speed = bytes as f64 / 1e6 / cpu;
            println!(
                "{name},decode,false,ByValue,{run},{documents},0,{bytes},{},{wall:.4},{cpu:.4},{speed:.0}",
                smile.len()
            );
        }
    }
    Ok(())
}

/// Wall time and processor time. Other programs on the machine disturb the latter less.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Clock { wall: Instant::now(), cpu: cpu_seconds()? })
    }

    fn seconds(&self) -> Result<(f64, f64), Box<dyn std::error::Error>> {
        Ok((self.wall.elapsed().as_secs_f64(), cpu_seconds()? - self.cpu))
    }
}

/// The processor time of this thread (Linux), seconds.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(nanoseconds.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9)
}

fn memchr_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        Some(line)
    })
}
