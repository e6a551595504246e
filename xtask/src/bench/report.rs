//! Results beside their goals: for a terminal, for scripts and for the documentation. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

/// One result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) measured: f64,
    /// The most that it may be.
    pub(super) goal: f64,
    pub(super) unit: Unit,
    pub(super) how: String,
}

/// What a result counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Times,
    Milliseconds,
    Microseconds,
    Megabytes,
    Processes,
    WakeUps,
}

impl Unit {
    const fn symbol(self) -> &'static str {
        match self {
            Self::Times => "×",
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Megabytes => "MB",
            Self::Processes => "processes",
            Self::WakeUps => "wake-ups",
        }
    }
}

impl Row {
    pub(super) fn is_within_goal(&self) -> bool {
        self.measured <= self.goal
    }

    const fn verdict(&self) -> &'static str {
        if self.measured <= self.goal { "ok" } else { "over" }
    }

    fn value(&self, value: f64) -> String {
        let digits = if value.fract() == 0.0 { 0 } else { 2 };
        format!("{value:.digits$} {}", self.unit.symbol())
    }
}

/// The value in the middle; of an even number of values the upper one of the two.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(super) fn text(rows: &[Row]) -> String {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let goal = format!("at most {}", row.value(row.goal));
            [row.what.to_owned(), row.value(row.measured), goal, row.verdict().to_owned(), row.how.clone()]
        })
        .collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in &cells {
        let padded: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn json(rows: &[Row]) -> anyhow::Result<String> {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "what": row.what,
                "measured": row.measured,
                "goal": row.goal,
                "unit": row.unit.symbol(),
                "ok": row.is_within_goal(),
                "how": row.how,
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&json!({ "results": rows })).context("results cannot be written")?;
    text.push('\n');
    Ok(text)
}

pub(super) fn document(rows: &[Row], machine: &str) -> String {
    let mut text = format!(
        "# Benchmarks\n\n\
         Made by `cargo xtask bench --write`, which measures anew and renders this page.\n\
         Measured on {machine}.\n\n\
         What is compared is run in turns, in one run on one machine. Programs are those that `cargo xtask install`\n\
         installs; the hook, and the empty program that it is compared with, are linked statically. cgc is the tests'\n\
         stand-in, since none of these results contains any work of cgc. Absolute times grow with what else the machine\n\
         is doing, and so does the time of the empty program; ratios hardly do.\n\n\
         | what | measured | goal | | how |\n|---|---|---|---|---|\n"
    );
    for row in rows {
        let (measured, goal) = (row.value(row.measured), row.value(row.goal));
        // Writing to a string cannot fail.
        let _written =
            writeln!(text, "| {} | {measured} | at most {goal} | {} | {} |", row.what, row.verdict(), row.how).is_ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(measured: f64) -> Row {
        Row { what: "hook", measured, goal: 2.5, unit: Unit::Times, how: "medians".to_owned() }
    }

    #[test]
    fn a_result_at_its_goal_is_ok_and_one_above_it_is_over() {
        let rows = [row(2.5), row(2.504), row(3.0)];

        assert_eq!(rows.iter().map(Row::is_within_goal).collect::<Vec<_>>(), [true, false, false]);
        let expected = "hook  2.50 ×  at most 2.50 ×  ok    medians\n\
                        hook  2.50 ×  at most 2.50 ×  over  medians\n\
                        hook  3 ×     at most 2.50 ×  over  medians\n";
        assert_eq!(text(&rows), expected);
    }

    #[test]
    fn scripts_and_readers_see_the_same_results() {
        let parsed: serde_json::Value = serde_json::from_str(&json(&[row(1.25)]).unwrap()).unwrap();

        assert_eq!(parsed["results"][0]["measured"], 1.25);
        assert_eq!(parsed["results"][0]["ok"], true);
        let document = document(&[row(1.25)], "2 cores");
        assert!(document.contains("Measured on 2 cores."), "{document}");
        assert!(document.ends_with("| hook | 1.25 × | at most 2.50 × | ok | medians |\n"), "{document}");
    }

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();

        assert_eq!(median(times), Duration::from_millis(5));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }
}
