//! Prints whether the fault of X-03 is switched on; a test of `cargo xtask guardrails --mutate` runs it.

#![expect(clippy::print_stdout, reason = "the answer is what this program is for")]

fn main() {
    println!("{}", if cynode_fault::fault!("X-03") { "on" } else { "off" });
}
