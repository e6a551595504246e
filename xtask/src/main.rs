//! The project's build and test commands: reads the command line and hands over to one module per command.
//!
//! This crate never becomes part of the product, and the product never depends on it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these commands talk to a developer's terminal"
)]

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use lexopt::prelude::*;

use crate::provision::Component;
use crate::workspace::Workspace;

mod arch;
mod command;
mod environment;
mod provision;
mod workspace;

const HELP: &str = "\
usage: cargo xtask COMMAND

  provision [cgc|claude-code|nextest|deny|all]
                        install pinned test tools into $CGC_STEWARD_CACHE, else
                        $XDG_CACHE_HOME/cgc-steward-dev, else ~/.cache/cgc-steward-dev
  arch                  check the architecture rules: rings, closures, manifests, sources
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
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Some(other) => return Err(other.unexpected().into()),
    };
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
        "env" => {
            no_more(&mut arguments)?;
            print!("{}", environment::exports(&workspace)?);
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
