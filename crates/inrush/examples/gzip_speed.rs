//! Measures the speed and ratio of the compression of bulk bodies on one core: `gzip_speed REPEAT
//! FILE…` cuts the documents of NDJSON files into bodies of 1 MiB, as JSON and as SMILE, and writes
//! CSV, one line for each file, encoding, level and run.
#![allow(clippy::print_stdout, reason = "a measurement")]

use std::time::Instant;

use bytes::Bytes;
use inrush_cluster::transport::gzip::{Gzip, GzipLevel};
use inrush_smile::{Decimals, SEPARATOR, SmileEncoder, SmileOptions};

const BODY: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let repeat: u32 = arguments.next().ok_or("how often?")?.parse()?;
    println!("file,encoding,level,run,bodies,body_bytes,gzip_bytes,wall_s,cpu_s,mb_per_cpu_s");
    for path in arguments {
        let json = std::fs::read(&path)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        for (encoding, bodies) in [("json", json_bodies(&json)), ("smile", smile_bodies(&json)?)] {
            let bytes: usize = bodies.iter().map(Bytes::len).sum();
            for level in [1, 3, 6, 9].into_iter().filter_map(GzipLevel::new) {
                for run in 0..repeat {
                    let mut gzip = Gzip::new(level);
                    let (begin, cpu) = (Instant::now(), cpu_seconds()?);
                    let small: usize = bodies.iter().map(|body| gzip.compress(std::slice::from_ref(body)).len()).sum();
                    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
                    let speed = bytes as f64 / 1e6 / cpu;
                    println!(
                        "{name},{encoding},{level},{run},{},{bytes},{small},{wall:.4},{cpu:.4},{speed:.0}",
                        bodies.len()
                    );
                }
            }
        }
    }
    Ok(())
}

/// The processor time of this thread, which other processes change less than wall time (Linux).
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(nanoseconds.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9)
}

fn json_bodies(json: &[u8]) -> Vec<Bytes> {
    let mut bodies = Bodies::default();
    for line in lines(json) {
        bodies.last.extend_from_slice(b"{\"index\":{}}\n");
        bodies.last.extend_from_slice(line);
        bodies.last.push(b'\n');
        bodies.cut();
    }
    bodies.end()
}

fn smile_bodies(json: &[u8]) -> Result<Vec<Bytes>, Box<dyn std::error::Error>> {
    let mut encoder = SmileEncoder::new(SmileOptions::default().with_decimals(Decimals::ByValue));
    let mut action_line = Vec::new();
    encoder.encode(br#"{"index":{}}"#, &mut action_line)?;
    let mut bodies = Bodies::default();
    for line in lines(json) {
        bodies.last.extend_from_slice(&action_line);
        bodies.last.push(SEPARATOR);
        encoder.encode(line, &mut bodies.last)?;
        bodies.last.push(SEPARATOR);
        bodies.cut();
    }
    Ok(bodies.end())
}

fn lines(json: &[u8]) -> impl Iterator<Item = &[u8]> {
    json.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

#[derive(Default)]
struct Bodies {
    done: Vec<Bytes>,
    last: Vec<u8>,
}

impl Bodies {
    fn cut(&mut self) {
        if self.last.len() >= BODY {
            self.done.push(std::mem::take(&mut self.last).into());
        }
    }

    fn end(mut self) -> Vec<Bytes> {
        self.done.push(self.last.into());
        self.done
    }
}
