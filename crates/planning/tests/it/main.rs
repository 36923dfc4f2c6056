//! Rules measured on the corpora, and against hostile texts.

mod accuracy;
mod corpus;
mod hostile;
mod injections;
