//! The program as its users call it: `orias sim`, and options, arguments and words that are damaged.

mod damaged;
mod sim;
