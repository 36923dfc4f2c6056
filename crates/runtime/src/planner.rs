//! How far a planner may go: the section `[planner]`.
//!
//! These two values are also read from the plain variables `PLANNER_MAX_STEPS` and
//! `MODEL_TEMPERATURE`. Unlike all others they never stop a start: what is out of range is
//! clamped, what cannot be read becomes the default, and both are told as warnings.

use std::num::IntErrorKind;

use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

use crate::config::{Fault, Section};

const MAX_STEPS: (i64, i64) = (1, 50);
const DEFAULT_MAX_STEPS: u32 = 6;
const TEMPERATURE: (f64, f64) = (0.0, 2.0);
const DEFAULT_TEMPERATURE: f64 = 0.3;

/// How far a planner may go.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannerOptions {
    /// The most steps a plan may have, 1 to 50.
    pub max_steps: u32,
    /// How freely the model may choose its words, 0 to 2.
    pub temperature: f64,
    #[serde(skip)]
    warnings: Vec<String>,
}

impl Default for PlannerOptions {
    fn default() -> Self {
        Self {
            max_steps: DEFAULT_MAX_STEPS,
            temperature: DEFAULT_TEMPERATURE,
            warnings: Vec::new(),
        }
    }
}

impl PlannerOptions {
    /// What was clamped or could not be read, in words. Options are read before the log is on, so
    /// that whoever read them logs these afterwards.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Section for PlannerOptions {
    const NAME: &'static str = "planner";
    const ENV_ALIASES: &'static [(&'static str, &'static str)] =
        &[("PLANNER_MAX_STEPS", "max_steps"), ("MODEL_TEMPERATURE", "temperature")];

    fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }
}

/// The section as written, before it is known to make sense.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    max_steps: Option<Value>,
    temperature: Option<Value>,
}

impl<'de> Deserialize<'de> for PlannerOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let mut options = Self::default();
        if let Some(value) = written.max_steps {
            options.set_max_steps(&value);
        }
        if let Some(value) = written.temperature {
            options.set_temperature(&value);
        }
        Ok(options)
    }
}

impl PlannerOptions {
    fn set_max_steps(&mut self, value: &Value) {
        let (least, most) = MAX_STEPS;
        let Some(wanted) = whole_number(value) else {
            return self.warn(
                "max_steps",
                value,
                &format!("not a whole number; using {DEFAULT_MAX_STEPS}"),
            );
        };
        let clamped = wanted.clamp(least, most);
        if clamped != wanted {
            self.warn(
                "max_steps",
                value,
                &format!("allowed is {least} to {most}; using {clamped}"),
            );
        }
        self.max_steps = u32::try_from(clamped).unwrap_or(DEFAULT_MAX_STEPS);
    }

    fn set_temperature(&mut self, value: &Value) {
        let (least, most) = TEMPERATURE;
        let Some(wanted) = number(value) else {
            return self.warn(
                "temperature",
                value,
                &format!("not a number; using {DEFAULT_TEMPERATURE}"),
            );
        };
        self.temperature = wanted.clamp(least, most);
        if !(least..=most).contains(&wanted) {
            let used = self.temperature;
            self.warn("temperature", value, &format!("allowed is {least} to {most}; using {used}"));
        }
    }

    fn warn(&mut self, key: &str, value: &Value, outcome: &str) {
        self.warnings.push(format!("planner.{key} is {value}: {outcome}"));
    }
}

/// A whole number, as such or as text; one too large to hold is as large as can be.
fn whole_number(value: &Value) -> Option<i64> {
    if let Some(number) = value.as_integer() {
        return Some(number);
    }
    match value.as_str()?.trim().parse::<i64>() {
        Ok(number) => Some(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i64::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Some(i64::MIN),
        Err(_) => None,
    }
}

/// A finite number, as such or as text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Float(number) => *number,
        // Text is the way from an integer that loses nothing a temperature could need.
        Value::Integer(number) => number.to_string().parse().ok()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => return None,
    };
    Some(number).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};

    fn with_env(pairs: &[(&str, &str)]) -> PlannerOptions {
        let env = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load(&Sources { env: env.collect(), ..Sources::default() }).unwrap()
    }

    #[test]
    fn planner_values_in_range_are_taken_without_a_warning() {
        let options = with_env(&[("PLANNER_MAX_STEPS", "12"), ("MODEL_TEMPERATURE", "1")]);
        assert_eq!((options.max_steps, options.temperature), (12, 1.0));
        assert!(options.warnings().is_empty(), "{:?}", options.warnings());
        assert_eq!(with_env(&[]), PlannerOptions::default());
    }

    #[test]
    fn planner_steps_out_of_range_are_clamped_with_a_warning() {
        let huge = "9".repeat(40);
        for (text, steps) in [("0", 1), ("-5", 1), ("51", 50), (huge.as_str(), 50)] {
            let options = with_env(&[("PLANNER_MAX_STEPS", text)]);
            assert_eq!(options.max_steps, steps, "{text}");
            assert_eq!(options.warnings().len(), 1, "{text}");
            assert!(options.warnings()[0].contains("1 to 50"), "{:?}", options.warnings());
        }
    }

    #[test]
    fn planner_temperature_out_of_range_is_clamped_with_a_warning() {
        for (text, temperature) in [("-0.1", 0.0), ("2.5", 2.0), ("3", 2.0)] {
            let options = with_env(&[("MODEL_TEMPERATURE", text)]);
            assert_eq!((options.max_steps, options.temperature), (6, temperature), "{text}");
            assert_eq!(options.warnings().len(), 1, "{text}");
        }
    }

    #[test]
    fn unreadable_planner_values_become_the_default_with_a_warning() {
        for text in ["", "   ", "many", "NaN", "6.5.1", "inf", "-inf", "0x10"] {
            let options = with_env(&[("PLANNER_MAX_STEPS", text), ("MODEL_TEMPERATURE", text)]);
            assert_eq!((options.max_steps, options.temperature), (6, 0.3), "{text}");
            assert_eq!(options.warnings().len(), 2, "{text}: {:?}", options.warnings());
        }
    }

    #[test]
    fn the_planner_section_obeys_the_same_layers_and_leniency() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cynode.toml");
        std::fs::write(&file, "[planner]\nmax_steps = 99\ntemperature = \"warm\"\n").unwrap();
        let env = [("PLANNER_MAX_STEPS", "3"), ("CYNODE_PLANNER__TEMPERATURE", "0.9")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sources = Sources { file: Some(file), env: env.into(), ..Sources::default() };

        let options: PlannerOptions = load(&sources).unwrap();

        assert_eq!((options.max_steps, options.temperature), (50, 0.3));
        assert_eq!(options.warnings().len(), 2);
    }

    #[test]
    fn the_full_name_of_a_planner_variable_beats_the_plain_one() {
        let options = with_env(&[("PLANNER_MAX_STEPS", "3"), ("CYNODE_PLANNER__MAX_STEPS", "4")]);
        assert_eq!(options.max_steps, 4);
    }
}
