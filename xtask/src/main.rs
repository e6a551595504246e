//! The project's build and test commands: reads the command line and hands over to one module per command.
//!
//! This crate never becomes part of the product, and the product never depends on it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "these commands talk to a developer's terminal")]

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use lexopt::prelude::*;

use crate::conformance::ResultsFrom;
use crate::provision::Component;
use crate::test_run::Profile;
use crate::workspace::Workspace;

mod arch;
mod bench;
mod command;
mod conformance;
mod demo;
mod environment;
mod install;
mod leftovers;
mod provision;
mod stage;
mod test_run;
mod test_suite;
mod workspace;

const HELP: &str = "\
usage: cargo xtask COMMAND

  provision [cgc|claude-code|nextest|deny|all]
                        install pinned test tools into $CGC_STEWARD_CACHE, else
                        $XDG_CACHE_HOME/cgc-steward-dev, else ~/.cache/cgc-steward-dev
  arch                  check the architecture rules: rings, closures, manifests, sources
  conformance [--no-run] [--json]
                        compare docs/spec with the compiled tests and, unless --no-run, their results
  test [--long]         all checks and tests; --long tries many more cases
  ci                    the same as continuous integration runs it
  install [--prefix DIR]
                        build the programs for use and put them into DIR/bin, by default ~/.local/bin
  demo [PATH]           show the main job on a copy of the repository at PATH, by default of a part of this
                        one, with the real cgc and a real Claude Code whose model is scripted
  bench [--json] [--write] [--check]
                        measure what the companion costs; --write renders docs/benchmarks.md, --check
                        fails where a goal is missed
  env                   print the variables that the tests read, as shell exports
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let mut arguments = lexopt::Parser::from_env();
    let command = match arguments.next()? {
        Some(Value(name)) => name.string()?,
        Some(Long("help") | Short('h')) | None => {
            command::print(HELP)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(other) => return Err(other.unexpected().into()),
    };
    if command == bench::STAND_IN {
        no_more(&mut arguments)?;
        bench::stand_in()?;
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::locate()?;
    match command.as_str() {
        "provision" => {
            let names = positionals(&mut arguments)?;
            let components = Component::parse_all(&names)?;
            provision::provision(&workspace, &components)?;
        }
        "arch" => {
            no_more(&mut arguments)?;
            arch::run(&workspace)?;
        }
        "conformance" => {
            let mut results_from = ResultsFrom::OwnRun;
            let mut as_json = false;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("no-run") => results_from = ResultsFrom::Nowhere,
                    Long("json") => as_json = true,
                    Short(_) | Long(_) | Value(_) => return Err(argument.unexpected().into()),
                }
            }
            conformance::run(&workspace, results_from, as_json)?;
        }
        "demo" => {
            let path = match arguments.next()? {
                Some(Value(path)) => Some(std::path::absolute(path).context("PATH cannot be used")?),
                Some(other) => return Err(other.unexpected().into()),
                None => None,
            };
            no_more(&mut arguments)?;
            demo::run(&workspace, path)?;
        }
        "bench" => {
            let mut options = bench::Options::default();
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("json") => options.as_json = true,
                    Long("write") => options.writes = true,
                    Long("check") => options.checks = true,
                    Short(_) | Long(_) | Value(_) => return Err(argument.unexpected().into()),
                }
            }
            bench::run(&workspace, options)?;
        }
        "env" => {
            no_more(&mut arguments)?;
            command::print(&environment::exports(&workspace)?)?;
        }
        "install" => {
            let mut prefix = None;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("prefix") => prefix = Some(arguments.value()?.into()),
                    Short(_) | Long(_) | Value(_) => return Err(argument.unexpected().into()),
                }
            }
            install::run(&workspace, prefix)?;
        }
        "test" | "ci" => {
            let mut is_long = false;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("long") => is_long = true,
                    Short(_) | Long(_) | Value(_) => return Err(argument.unexpected().into()),
                }
            }
            let is_ci = command == "ci" || std::env::var_os("CI").is_some_and(|value| value == "true");
            let profile = if is_ci { Profile::Ci } else { Profile::Default };
            test_suite::run(&workspace, test_suite::Options { profile, is_long })?;
        }
        unknown => bail!("unknown command `{unknown}`; see `cargo xtask --help`"),
    }
    Ok(ExitCode::SUCCESS)
}

fn positionals(arguments: &mut lexopt::Parser) -> anyhow::Result<Vec<String>> {
    let mut values = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Value(value) => values.push(value.string().context("an argument is not UTF-8")?),
            Short(_) | Long(_) => return Err(argument.unexpected().into()),
        }
    }
    Ok(values)
}

fn no_more(arguments: &mut lexopt::Parser) -> anyhow::Result<()> {
    match arguments.next()? {
        Some(argument) => Err(argument.unexpected().into()),
        None => Ok(()),
    }
}
