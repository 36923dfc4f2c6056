//! A plain table: what was measured, the goal, whether it is met, and how it compares.

use std::fmt::Write as _;
use std::time::Duration;

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    goal: Option<f64>,
    baseline: Option<f64>,
}

impl Row {
    /// A duration, in milliseconds.
    pub(crate) fn time(what: impl Into<String>, value: Duration) -> Self {
        Self::number(what, millis(value), "ms")
    }

    /// Any other figure.
    pub(crate) fn number(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, goal: None, baseline: None }
    }

    /// What it has to stay under.
    pub(crate) fn under(mut self, goal: f64) -> Self {
        self.goal = Some(goal);
        self
    }

    /// What it is compared with.
    pub(crate) fn against(mut self, baseline: Duration) -> Self {
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

/// The rows as text, with aligned columns.
pub(crate) fn render(rows: &[Row]) -> String {
    let head = ["measured", "value", "goal", "", "to baseline"].map(str::to_owned);
    let cells: Vec<[String; 5]> =
        std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
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
            Row::time("short", Duration::from_millis(10))
                .under(20.0)
                .against(Duration::from_millis(5)),
            Row::number("a longer name", 200.0, "MiB").under(200.0),
            Row::number("plain", 1.0, "/s"),
        ];

        assert_eq!(
            render(&rows),
            "measured           value  goal               to baseline\n\
             short            10.0 ms  < 20 ms    met            2.0×\n\
             a longer name  200.0 MiB  < 200 MiB  MISSED\n\
             plain             1.0 /s\n"
        );
    }
}
