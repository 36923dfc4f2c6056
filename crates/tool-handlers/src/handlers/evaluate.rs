//! A calculator: arithmetic with a parser of its own. Nothing else is evaluated.

use cynode_wire::tool_calls::{MathEvaluate, ToolCall as _};
use serde_json::{Value, json};

use crate::{HandlerError, NetworkUse, ToolHandler, pure_handler};

/// The deepest nesting of parentheses, signs and powers.
const MAX_DEPTH: usize = 64;
/// The functions. `min` and `max` take any number of arguments, the others take one.
const FUNCTIONS: &[&str] = &["abs", "sqrt", "round", "floor", "ceil", "ln", "log10", "min", "max"];

pub(super) const HANDLER: ToolHandler = ToolHandler {
    name: MathEvaluate::NAME,
    title: "Calculate",
    description: "Calculates an arithmetic expression: + - * / % ^, parentheses, and the functions abs, sqrt, round, \
        floor, ceil, ln, log10, min and max.",
    parameters: MathEvaluate::input_schema,
    results: &["result"],
    network: NetworkUse::None,
    run: pure_handler!(MathEvaluate, run),
};

fn run(inputs: MathEvaluate) -> Result<Value, HandlerError> {
    let MathEvaluate { expression } = inputs;
    let mut parser = ExpressionParser { text: expression.as_bytes(), at: 0, depth: 0 };
    let result = parser.sum()?;
    parser.skip_blanks();
    if parser.at < parser.text.len() {
        return Err(parser.fault("expected an operator"));
    }
    if !result.is_finite() {
        return Err(HandlerError::Inputs("the result is not a finite number".to_owned()));
    }
    Ok(json!({ "result": result }))
}

/// A parser by recursive descent that calculates as it reads.
struct ExpressionParser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl ExpressionParser<'_> {
    fn sum(&mut self) -> Result<f64, HandlerError> {
        let mut value = self.product()?;
        loop {
            match self.take(b"+-") {
                Some(b'+') => value += self.product()?,
                Some(_) => value -= self.product()?,
                None => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<f64, HandlerError> {
        let mut value = self.signed()?;
        loop {
            match self.take(b"*/%") {
                Some(b'*') => value *= self.signed()?,
                Some(sign) => {
                    let divisor = self.signed()?;
                    if divisor == 0.0 {
                        return Err(self.fault("division by zero"));
                    }
                    value = if sign == b'/' { value / divisor } else { value % divisor };
                }
                None => return Ok(value),
            }
        }
    }

    /// A sign binds less than a power: -2^2 is -4.
    fn signed(&mut self) -> Result<f64, HandlerError> {
        self.nested(|parser| match parser.take(b"+-") {
            Some(b'-') => Ok(-parser.signed()?),
            Some(_) => parser.signed(),
            None => parser.power(),
        })
    }

    /// A power binds to the right: 2^3^2 is 2^9.
    fn power(&mut self) -> Result<f64, HandlerError> {
        let base = self.atom()?;
        match self.take(b"^") {
            Some(_) => Ok(base.powf(self.signed()?)),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<f64, HandlerError> {
        if self.take(b"(").is_some() {
            let value = self.nested(Self::sum)?;
            return self.expect(b")").map(|()| value);
        }
        let word = self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        match word.as_bytes().first() {
            None => Err(self.fault("expected a number")),
            Some(first) if first.is_ascii_alphabetic() => self.call(&word),
            Some(_) => {
                let number: f64 = word.parse().map_err(|_| self.fault("expected a number"))?;
                if number.is_finite() {
                    Ok(number)
                } else {
                    Err(self.fault("the number is too large"))
                }
            }
        }
    }

    fn call(&mut self, name: &str) -> Result<f64, HandlerError> {
        match name {
            "pi" => return Ok(std::f64::consts::PI),
            "e" => return Ok(std::f64::consts::E),
            known if FUNCTIONS.contains(&known) => {}
            _ => {
                let known = FUNCTIONS.join(", ");
                return Err(self.fault(&format!("unknown function, expected one of {known}")));
            }
        }
        self.expect(b"(")?;
        let mut values = vec![self.nested(Self::sum)?];
        while self.take(b",").is_some() {
            values.push(self.nested(Self::sum)?);
        }
        self.expect(b")")?;
        match (name, values.as_slice()) {
            ("abs", [value]) => Ok(value.abs()),
            ("sqrt", [value]) => Ok(value.sqrt()),
            ("round", [value]) => Ok(value.round()),
            ("floor", [value]) => Ok(value.floor()),
            ("ceil", [value]) => Ok(value.ceil()),
            ("ln", [value]) => Ok(value.ln()),
            ("log10", [value]) => Ok(value.log10()),
            ("min", values) => Ok(values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("max", values) => Ok(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            _ => Err(self.fault("wrong number of arguments")),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<f64, HandlerError>,
    ) -> Result<f64, HandlerError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault("the expression is nested too deeply"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Takes one of these characters.
    fn take(&mut self, wanted: &[u8]) -> Option<u8> {
        self.skip_blanks();
        let byte = *self.text.get(self.at).filter(|byte| wanted.contains(byte))?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, wanted: &[u8]) -> Result<(), HandlerError> {
        let shown = String::from_utf8_lossy(wanted).into_owned();
        self.take(wanted).map(|_| ()).ok_or_else(|| self.fault(&format!("expected {shown}")))
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> String {
        self.skip_blanks();
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| is_part(*byte)) {
            self.at += 1;
        }
        let taken = self.text.get(start..self.at).unwrap_or_default();
        String::from_utf8_lossy(taken).into_owned()
    }

    fn fault(&self, what: &str) -> HandlerError {
        HandlerError::Inputs(format!("{what} at position {}", self.at + 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::call;
    use super::*;

    fn evaluate(expression: &str) -> Result<f64, HandlerError> {
        let done = run(MathEvaluate { expression: expression.to_owned() })?;
        Ok(done["result"].as_f64().unwrap())
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (expression, result) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("7 % 4 - 10 / 4", 0.5),
            ("max(1, sqrt(16), abs(-3)) + min(2, 1)", 5.0),
            ("1.5e2 + .5", 150.5),
            ("--3", 3.0),
        ] {
            assert!((evaluate(expression).unwrap() - result).abs() < 1e-9, "{expression}");
        }
    }

    #[test]
    fn everything_else_is_rejected_with_a_position() {
        for odd in [
            "",
            "1 +",
            "1 / 0",
            "2 2",
            "(1",
            "system(1)",
            "import os",
            "1e999",
            "sqrt(-1)",
            "0x10",
            "1;2",
        ] {
            assert!(evaluate(odd).is_err(), "{odd}");
        }
        assert!(evaluate("1 + x").unwrap_err().to_string().contains("position"));
        assert!(evaluate(&"(".repeat(5_000)).is_err());
        assert!(evaluate(&"-".repeat(5_000)).is_err());
    }

    #[test]
    fn an_unknown_function_is_answered_with_the_known_ones() {
        let fault = evaluate("system(1)").unwrap_err().to_string();

        for name in FUNCTIONS {
            assert!(fault.contains(name) && HANDLER.description.contains(name), "{name}: {fault}");
            assert!(evaluate(&format!("{name}(1)")).is_ok(), "{name}");
        }
        let fault = evaluate("sqrt(1, 2)").unwrap_err().to_string();
        assert!(fault.contains("wrong number of arguments"), "{fault}");
    }

    #[tokio::test]
    async fn the_handler_returns_the_result() {
        let done = call("math.evaluate", json!({ "expression": "6*7" })).await.unwrap();
        assert_eq!(done, json!({ "result": 42.0 }));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-z+*/%^(),. \\-]{0,60}") {
            let _ = evaluate(&text);
        }
    }
}
