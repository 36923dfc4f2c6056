//! A table from comma-separated values (RFC 4180).

use cynode_wire::tool_calls::{TableFromCsv, ToolCall as _};
use serde_json::{Value, json};

use crate::{HandlerError, NetworkUse, ToolHandler, pure_handler};

/// The most rows that are returned; more are counted.
const MAX_ROWS: usize = 500;

pub(super) const HANDLER: ToolHandler = ToolHandler {
    name: TableFromCsv::NAME,
    title: "Table from CSV",
    description: "Reads comma-separated values with a header line as a table: columns, and up to 500 rows by column name. \
        Quoted fields may contain the delimiter and line breaks.",
    parameters: TableFromCsv::input_schema,
    results: &["columns", "rows", "row_count"],
    network: NetworkUse::None,
    run: pure_handler!(TableFromCsv, run),
};

fn run(inputs: TableFromCsv) -> Result<Value, HandlerError> {
    let TableFromCsv { csv, delimiter } = inputs;
    let delimiter = delimiter.unwrap_or_else(|| ",".to_owned());
    let mut letters = delimiter.chars();
    let (Some(delimiter), None) = (letters.next(), letters.next()) else {
        return Err(HandlerError::Inputs("delimiter must be one character".to_owned()));
    };
    if matches!(delimiter, '"' | '\n' | '\r') {
        return Err(HandlerError::Inputs("delimiter must be no quote or line break".to_owned()));
    }
    let mut records = parse_records(&csv, delimiter)?.into_iter();
    let columns = records.next().ok_or_else(|| {
        HandlerError::Inputs("csv is empty: the first line names the columns".to_owned())
    })?;
    let mut rows = vec![];
    let mut count = 0_usize;
    for record in records {
        count += 1;
        if record.len() != columns.len() {
            let (found, wanted) = (record.len(), columns.len());
            let text = format!("row {count} has {found} fields, and there are {wanted} columns");
            return Err(HandlerError::Inputs(text));
        }
        if rows.len() < MAX_ROWS {
            let cells = columns.iter().cloned().zip(record.into_iter().map(Value::from));
            rows.push(Value::Object(cells.collect()));
        }
    }
    Ok(json!({ "columns": columns, "rows": rows, "row_count": count }))
}

fn parse_records(text: &str, delimiter: char) -> Result<Vec<Vec<String>>, HandlerError> {
    let (mut records, mut record, mut field) = (vec![], vec![], String::new());
    let (mut is_quoted, mut was_quoted) = (false, false);
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if field.is_empty() && !was_quoted => (is_quoted, was_quoted) = (true, true),
            letter if is_quoted => field.push(letter),
            letter if letter == delimiter => {
                record.push(std::mem::take(&mut field));
                was_quoted = false;
            }
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' => {
                record.push(std::mem::take(&mut field));
                was_quoted = false;
                records.push(std::mem::take(&mut record));
            }
            letter => field.push(letter),
        }
    }
    if is_quoted {
        return Err(HandlerError::Inputs("a quoted field has no end".to_owned()));
    }
    if !field.is_empty() || was_quoted || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    // An empty line is no row.
    records.retain(|record| record.iter().any(|field| !field.is_empty()) || record.len() > 1);
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::*;

    #[tokio::test]
    async fn quoted_fields_keep_delimiters_quotes_and_line_breaks() {
        let csv = "name,said\r\nAda,\"a \"\"b\"\", c\nd\"\n\nBob,\n";
        let table = call("table.from_csv", json!({ "csv": csv })).await.unwrap();

        assert_eq!(table["columns"], json!(["name", "said"]));
        assert_eq!(table["rows"][0], json!({ "name": "Ada", "said": "a \"b\", c\nd" }));
        assert_eq!((&table["rows"][1]["said"], &table["row_count"]), (&json!(""), &json!(2)));
    }

    #[tokio::test]
    async fn uneven_rows_open_quotes_and_odd_delimiters_are_rejected() {
        for inputs in [
            json!({ "csv": "a,b\n1\n" }),
            json!({ "csv": "a,b\n\"1,2\n" }),
            json!({ "csv": "" }),
            json!({ "csv": "a", "delimiter": ";;" }),
            json!({ "csv": "a", "delimiter": "\"" }),
        ] {
            assert!(call("table.from_csv", inputs.clone()).await.is_err(), "{inputs}");
        }
        let semicolons = json!({ "csv": "a;b\n1,5;2", "delimiter": ";" });
        assert_eq!(call("table.from_csv", semicolons).await.unwrap()["rows"][0]["a"], "1,5");
    }

    #[tokio::test]
    async fn of_many_rows_the_first_are_returned_and_all_are_counted() {
        let csv = format!("n\n{}", "1\n".repeat(MAX_ROWS + 7));
        let table = call("table.from_csv", json!({ "csv": csv })).await.unwrap();
        assert_eq!(table["row_count"], MAX_ROWS + 7);
        assert_eq!(table["rows"].as_array().unwrap().len(), MAX_ROWS);
    }
}
