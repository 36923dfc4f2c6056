//! The section `[planner]`: limits of the planner.
//!
//! Both values are also read from the variables `PLANNER_MAX_STEPS` and `MODEL_TEMPERATURE`. Unlike all
//! others they never fail a start: a value out of range is clamped, an unreadable one is replaced with
//! the default, and both produce warnings.

use std::num::IntErrorKind;

use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

use crate::config::{ConfigFault, ConfigSection};

const MAX_STEPS_RANGE: (i64, i64) = (1, 50);
const DEFAULT_MAX_STEPS: u32 = 6;
const TEMPERATURE_RANGE: (f64, f64) = (0.0, 2.0);
const DEFAULT_TEMPERATURE: f64 = 0.3;

/// Limits of the planner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannerOptions {
    /// Maximum steps per plan, 1 to 50.
    pub max_steps: u32,
    /// Sampling temperature of the model, 0 to 2.
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
    /// Values that were clamped or unreadable. Options are loaded before logging is initialised, so the
    /// caller logs these afterwards.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl ConfigSection for PlannerOptions {
    const NAME: &'static str = "planner";
    const ENV_ALIASES: &'static [(&'static str, &'static str)] =
        &[("PLANNER_MAX_STEPS", "max_steps"), ("MODEL_TEMPERATURE", "temperature")];

    fn validate(&self) -> Vec<ConfigFault> {
        Vec::new()
    }
}

/// The section before validation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlannerSection {
    max_steps: Option<Value>,
    temperature: Option<Value>,
}

impl<'de> Deserialize<'de> for PlannerOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = RawPlannerSection::deserialize(deserializer)?;
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
        let (least, most) = MAX_STEPS_RANGE;
        let Some(wanted) = parse_integer(value) else {
            return self.warn(
                "max_steps",
                value,
                &format!("not a whole number; using {DEFAULT_MAX_STEPS}"),
            );
        };
        let clamped =
            if cynode_fault::fault!("GRD-10") { wanted } else { wanted.clamp(least, most) };
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
        let (least, most) = TEMPERATURE_RANGE;
        let Some(wanted) = parse_number(value) else {
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

/// An integer or its text; saturates on overflow.
fn parse_integer(value: &Value) -> Option<i64> {
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

/// A finite number or its text.
fn parse_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Float(number) => *number,
        // Via text, since a cast could lose precision.
        Value::Integer(number) => number.to_string().parse().ok()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => return None,
    };
    Some(number).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigSources, load};

    fn with_env(pairs: &[(&str, &str)]) -> PlannerOptions {
        let env = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load(&ConfigSources { env: env.collect(), ..ConfigSources::default() }).unwrap()
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
        let sources =
            ConfigSources { file: Some(file), env: env.into(), ..ConfigSources::default() };

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
