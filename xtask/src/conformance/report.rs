//! Showing a comparison: as a table for humans, as JSON for scripts. Decides nothing.

use std::fmt::Write as _;

use serde_json::json;

use super::comparison::{Cell, Comparison, Matrix};
use super::specification::{ScenarioId, Specification, World};

/// The matrix scenario by world, the planned scenarios, and every list that should be empty and is not.
pub(super) fn table(specification: &Specification, comparison: &Comparison, matrix: &Matrix) -> String {
    let mut text = String::new();
    let mut line = |text_of_line: &str| {
        text.push_str(text_of_line.trim_end());
        text.push('\n');
    };
    line(&row("scenario", World::name, ""));
    let mut planned = Vec::new();
    for (id, scenario) in specification {
        if scenario.is_planned {
            planned.push(id.to_string());
        }
        if !scenario.is_planned || matrix.contains_key(id) {
            line(&row(&id.to_string(), |world| cell(matrix, id, world).map_or("-", shown), &scenario.name));
        }
    }
    line("");
    line(&format!("planned ({}): {}", planned.len(), planned.join(" ")));
    for (kind, entries) in comparison.lists() {
        if !entries.is_empty() {
            line(&format!("{kind} ({}):", entries.len()));
            for entry in entries {
                line(&format!("  {entry}"));
            }
        }
    }
    text
}

/// Everything that the table says, for scripts.
pub(super) fn json(specification: &Specification, comparison: &Comparison, matrix: &Matrix) -> serde_json::Value {
    let scenarios: Vec<_> = specification
        .iter()
        .map(|(id, scenario)| {
            json!({
                "id": id,
                "name": scenario.name,
                "feature": scenario.feature,
                "planned": scenario.is_planned,
                "required": scenario.required,
                "worlds": matrix.get(id).cloned().unwrap_or_default(),
            })
        })
        .collect();
    json!({ "conforms": comparison.conforms(), "scenarios": scenarios, "problems": comparison })
}

fn cell(matrix: &Matrix, id: &ScenarioId, world: World) -> Option<Cell> {
    matrix.get(id)?.get(&world).copied()
}

fn shown(cell: Cell) -> &'static str {
    match cell {
        Cell::Listed => "listed",
        Cell::Ok => "ok",
        Cell::Skipped => "NOT RUN",
        Cell::Flaky => "FLAKY",
        Cell::Fail => "FAIL",
    }
}

fn row(head: &str, text_of: impl Fn(World) -> &'static str, tail: &str) -> String {
    let mut row = format!("{head:<10}");
    for world in World::ALL {
        // Writing to a String cannot fail.
        let _written = write!(row, "{:<12}", text_of(world));
    }
    row + tail
}
