//! A plain table: measurement, goal, whether the goal is met, and ratio to the baseline.

use std::fmt::Write as _;
use std::time::Duration;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct FigureRow {
    what: String,
    value: f64,
    unit: &'static str,
    goal: Option<f64>,
    baseline: Option<f64>,
}

impl FigureRow {
    /// A duration, in milliseconds.
    pub(crate) fn from_duration(what: impl Into<String>, value: Duration) -> Self {
        Self::from_value(what, millis(value), "ms")
    }

    /// Any other figure.
    pub(crate) fn from_value(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, goal: None, baseline: None }
    }

    /// Sets the goal: an upper bound.
    pub(crate) fn with_goal(mut self, goal: f64) -> Self {
        self.goal = Some(goal);
        self
    }

    /// Sets the baseline.
    pub(crate) fn with_baseline(mut self, baseline: Duration) -> Self {
        self.baseline = Some(millis(baseline));
        self
    }

    fn cells(&self) -> [String; 5] {
        let goal = self.goal.map(|goal| format!("< {goal:.0} {}", self.unit));
        let met = self.goal.map(|goal| if self.value < goal { "met" } else { "MISSED" });
        let ratio = self.baseline.filter(|baseline| *baseline > 0.0);
        let ratio = ratio.map(|baseline| format!("{:.1}×", self.value / baseline));
        [
            self.what.clone(),
            format!("{:.1} {}", self.value, self.unit),
            goal.unwrap_or_default(),
            met.unwrap_or_default().to_owned(),
            ratio.unwrap_or_default(),
        ]
    }
}

/// Renders the rows with aligned columns.
pub(crate) fn render_rows(rows: &[FigureRow]) -> String {
    let head = ["measured", "value", "goal", "", "to baseline"].map(str::to_owned);
    let cells: Vec<[String; 5]> =
        std::iter::once(head).chain(rows.iter().map(FigureRow::cells)).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in &cells {
        let [what, value, goal, met, ratio] = row;
        let [w0, w1, w2, w3, w4] = widths;
        let line = format!("{what:<w0$}  {value:>w1$}  {goal:<w2$}  {met:<w3$}  {ratio:>w4$}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_only_below_it_and_columns_are_aligned() {
        let rows = [
            FigureRow::from_duration("short", Duration::from_millis(10))
                .with_goal(20.0)
                .with_baseline(Duration::from_millis(5)),
            FigureRow::from_value("a longer name", 200.0, "MiB").with_goal(200.0),
            FigureRow::from_value("plain", 1.0, "/s"),
        ];

        assert_eq!(
            render_rows(&rows),
            "measured           value  goal               to baseline\n\
             short            10.0 ms  < 20 ms    met            2.0×\n\
             a longer name  200.0 MiB  < 200 MiB  MISSED\n\
             plain             1.0 /s\n"
        );
    }
}
