//! Which class of machine a measurement was made on; never which machine.

use std::fs;
use std::thread;

use anyhow::Context as _;

/// Processor, cores, memory and kernel, in one line.
pub(super) fn describe() -> anyhow::Result<String> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let cores = thread::available_parallelism().context("the number of cores is not known")?;
    Ok(line(cores.get(), &read("/proc/cpuinfo")?, &read("/proc/meminfo")?, &read("/proc/sys/kernel/osrelease")?))
}

fn line(cores: usize, processors: &str, memory: &str, kernel: &str) -> String {
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let kibibytes: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok())
        .unwrap_or_default();
    // What follows the numbers is whoever built it.
    let version: Vec<&str> = kernel.trim().split(['.', '-', '+']).take(2).collect();
    format!("{cores} cores ({model}), {} GB of memory, Linux {}", kibibytes / 1_000_000, version.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described_by_its_class() {
        let processors = "processor\t: 0\nmodel name\t: Some CPU @ 2.60GHz\nprocessor\t: 1\n";

        let described = line(2, processors, "MemTotal:       24684396 kB\n", "6.1.12-somebody\n");

        assert_eq!(described, "2 cores (Some CPU @ 2.60GHz), 24 GB of memory, Linux 6.1");
    }
}
