//! Arithmetic with dates and times.

use chrono::{DateTime, Days, FixedOffset, Months, NaiveDate, TimeDelta};
use cynode_wire::tool_calls::{DateAdd, DateBetween, ToolCall as _};
use serde_json::{Value, json};

use crate::{HandlerError, NetworkUse, ToolHandler, pure_handler};

pub(super) const ADD: ToolHandler = ToolHandler {
    name: DateAdd::NAME,
    title: "Add to a date",
    description: "Adds months, days, hours and minutes to a date or a time; negative numbers subtract. The last day of a \
        month stays in its month.",
    parameters: DateAdd::input_schema,
    results: &["date", "weekday"],
    network: NetworkUse::None,
    run: pure_handler!(DateAdd, add),
};

pub(super) const BETWEEN: ToolHandler = ToolHandler {
    name: DateBetween::NAME,
    title: "Time between dates",
    description: "The time between two dates or times: whole days, hours and seconds; negative if the second is earlier.",
    parameters: DateBetween::input_schema,
    results: &["days", "hours", "seconds"],
    network: NetworkUse::None,
    run: pure_handler!(DateBetween, between),
};

/// A date, or a time with its offset.
enum Moment {
    Date(NaiveDate),
    Time(DateTime<FixedOffset>),
}

fn parse_moment(text: &str) -> Result<Moment, HandlerError> {
    if let Ok(date) = text.parse::<NaiveDate>() {
        return Ok(Moment::Date(date));
    }
    DateTime::parse_from_rfc3339(text).map(Moment::Time).map_err(|_| {
        HandlerError::Inputs(format!(
            "\"{text}\" is not a date; write 2026-01-31 or 2026-01-31T12:00:00Z"
        ))
    })
}

fn add(inputs: DateAdd) -> Result<Value, HandlerError> {
    let DateAdd { date, months, days, hours, minutes } = inputs;
    let out_of_range = || HandlerError::Inputs("the date is out of range".to_owned());
    let (months, days) = (months.unwrap_or(0), days.unwrap_or(0));
    let time = TimeDelta::hours(hours.unwrap_or(0).into())
        + TimeDelta::minutes(minutes.unwrap_or(0).into());
    let shifted = match parse_moment(&date)? {
        Moment::Date(_) if !time.is_zero() => {
            let text = "hours and minutes need a time, such as 2026-01-31T12:00:00Z".to_owned();
            return Err(HandlerError::Inputs(text));
        }
        Moment::Date(date) => {
            let date = shift_date(date, months, days).ok_or_else(out_of_range)?;
            (date.to_string(), date)
        }
        Moment::Time(at) => {
            let date = shift_date(at.date_naive(), months, days).ok_or_else(out_of_range)?;
            let at = date.and_time(at.time()).and_local_timezone(*at.offset()).single();
            let at = at.and_then(|at| at.checked_add_signed(time)).ok_or_else(out_of_range)?;
            (at.to_rfc3339(), at.date_naive())
        }
    };
    let (date, day) = shifted;
    Ok(json!({ "date": date, "weekday": day.format("%A").to_string() }))
}

fn shift_date(date: NaiveDate, months: i32, days: i32) -> Option<NaiveDate> {
    let count = Months::new(months.unsigned_abs());
    let date =
        if months < 0 { date.checked_sub_months(count) } else { date.checked_add_months(count) };
    let count = Days::new(days.unsigned_abs().into());
    if days < 0 { date?.checked_sub_days(count) } else { date?.checked_add_days(count) }
}

fn between(inputs: DateBetween) -> Result<Value, HandlerError> {
    let DateBetween { from, to } = inputs;
    let time = match (parse_moment(&from)?, parse_moment(&to)?) {
        (Moment::Date(from), Moment::Date(to)) => to.signed_duration_since(from),
        (Moment::Time(from), Moment::Time(to)) => to.signed_duration_since(from),
        (Moment::Date(_), Moment::Time(_)) | (Moment::Time(_), Moment::Date(_)) => {
            let text = "give two dates or two times".to_owned();
            return Err(HandlerError::Inputs(text));
        }
    };
    Ok(json!({ "days": time.num_days(), "hours": time.num_hours(), "seconds": time.num_seconds() }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::*;

    #[tokio::test]
    async fn months_end_at_their_last_day_and_times_keep_their_offset() {
        let leap = call("date.add", json!({ "date": "2028-01-31", "months": 1 })).await.unwrap();
        assert_eq!(leap, json!({ "date": "2028-02-29", "weekday": "Tuesday" }));
        let inputs = json!({ "date": "2026-12-31T23:30:00+01:00", "hours": 1, "days": -1 });
        assert_eq!(call("date.add", inputs).await.unwrap()["date"], "2026-12-31T00:30:00+01:00");
    }

    #[tokio::test]
    async fn the_time_between_two_dates_has_a_sign() {
        let inputs = json!({ "from": "2026-03-01", "to": "2026-02-01" });
        let time = call("date.between", inputs).await.unwrap();
        assert_eq!((&time["days"], &time["hours"]), (&json!(-28), &json!(-672)));
    }

    #[tokio::test]
    async fn what_is_no_date_or_out_of_range_is_rejected() {
        for (name, inputs) in [
            ("date.add", json!({ "date": "tomorrow", "days": 1 })),
            ("date.add", json!({ "date": "2026-02-30" })),
            ("date.add", json!({ "date": "2026-02-03", "hours": 1 })),
            ("date.add", json!({ "date": "2026-02-03", "months": i32::MAX })),
            ("date.add", json!({ "date": "2026-02-03", "months": i32::MIN, "days": i32::MIN })),
            ("date.between", json!({ "from": "2026-02-03", "to": "2026-02-03T00:00:00Z" })),
        ] {
            assert!(
                matches!(call(name, inputs.clone()).await, Err(HandlerError::Inputs(_))),
                "{inputs}"
            );
        }
    }
}
