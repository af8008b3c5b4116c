//! The part of the command line that `sim` and `run` share: a kernel, its grid and its arguments.

use crate::launch::{Launch, LaunchError, Outcome, parse_argument, report, write_outputs};
use clap::Args;
use std::path::PathBuf;

/// What `sim` and `run` are told of a launch; the names of the options are fixed.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// The kernel's file: PTX or cubin
    pub file: PathBuf,
    /// The kernel's name
    #[arg(long, value_name = "NAME")]
    entry: String,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dim)]
    grid: [u32; 3],
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dim)]
    block: [u32; 3],
    /// Blocks of a cluster; default: as the kernel says, or one
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dim)]
    cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u64,
    /// An argument, in the order of the kernel's parameters: u32=5 s32=-1 u64=7 s64=… f32=1.5
    /// f64=…, bytes=FILE (passed by value), in=FILE (pointer to a read-only buffer),
    /// inout=FILE:OUTFILE, out=BYTES:OUTFILE (zero-filled), tensor=ARG,TYPE,DIMS,BOX[,OPTION…]
    /// (tensor map of the buffer of argument ARG: tensor=0,f16,64x128,32x8,swizzle=64)
    #[arg(long = "arg", value_name = "KIND=VALUE", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Hazards in the machine code: deny, warn or off; not for PTX
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = ["deny", "warn", "off"])]
    pub hazards: String,
    /// Print one JSON object on standard output: instructions executed, estimated cycles, hazards
    #[arg(long)]
    json: bool,
}

/// `X`, `X,Y` or `X,Y,Z`; what is left out is 1.
fn parse_dim(text: &str) -> Result<[u32; 3], String> {
    let mut dim = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most three numbers: X,Y,Z".to_string());
    }
    for (place, part) in dim.iter_mut().zip(parts) {
        *place = part.parse().map_err(|_| format!("`{part}` is not a number"))?;
        if *place == 0 {
            return Err("each number must be at least 1".to_string());
        }
    }
    Ok(dim)
}

impl LaunchArgs {
    /// Reads the arguments and the files that they name.
    pub fn launch(&self) -> Result<Launch, LaunchError> {
        Ok(Launch {
            entry: self.entry.clone(),
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared: self.shared,
            args: self.args.iter().map(|arg| parse_argument(arg)).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the output files, and the JSON object when asked for.
    pub fn finish(&self, launch: &Launch, outcome: &Outcome) -> Result<(), LaunchError> {
        write_outputs(&launch.args, &outcome.buffers)?;
        if self.json {
            let object = report(launch, outcome);
            println!("{object}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_has_one_to_three_numbers() {
        assert_eq!(parse_dim("4"), Ok([4, 1, 1]));
        assert_eq!(parse_dim("4,5"), Ok([4, 5, 1]));
        assert_eq!(parse_dim("4,5,6"), Ok([4, 5, 6]));
        for wrong in ["", "0", "1,2,3,4", "x", "1,", "-1"] {
            assert!(parse_dim(wrong).is_err(), "{wrong}");
        }
    }
}
