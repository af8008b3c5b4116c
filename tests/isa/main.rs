//! `orias-isa`: the instruction table beside the oracle tools.

use clap::{Parser, Subcommand};
use orias_isa::words;
use orias_runner::oracle;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "The instruction table beside the oracle tools")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What nvdisasm says of words given in hex (32 digits, high word first).
    Text {
        /// The SM as nvdisasm names it.
        #[arg(long, default_value = "sm_90a")]
        arch: String,
        words: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("orias-isa: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), String> {
    let nvdisasm = oracle::tool("nvdisasm").ok_or("the oracle tools are missing")?;
    match command {
        Command::Text { arch, words: hex } => {
            let parse = |h: &String| u128::from_str_radix(h.trim_start_matches("0x"), 16);
            let list: Result<Vec<u128>, _> = hex.iter().map(parse).collect();
            let list = list.map_err(|e| format!("not a word: {e}"))?;
            for text in words::texts(&nvdisasm, &words::machine(&arch), &list) {
                println!("{}", text.as_deref().unwrap_or("refused"));
            }
        }
    }
    Ok(())
}
