//! The functions that every device program may declare and call: `vprintf`, `malloc`, `free` and
//! `__assertfail` (PTX Interoperability Guide, "System Calls").

use super::access::{Stopped, read};
use super::env::Env;
use super::error::StepError;
use super::operand::Space;
use super::warp::Warp;
use orias_targets::printf::{Arguments, format};

/// Characters of a string that is printed at most.
const MAX_STRING: u64 = 1 << 16;

/// A function that the system has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Builtin {
    Printf,
    Malloc,
    Free,
    AssertFail,
}

/// The function of the system with this name.
pub fn named(name: &str) -> Option<Builtin> {
    Some(match name {
        "vprintf" => Builtin::Printf,
        "malloc" => Builtin::Malloc,
        "free" => Builtin::Free,
        "__assertfail" => Builtin::AssertFail,
        _ => return None,
    })
}

/// One call by one lane; the result, 0 where there is none.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    lane: usize,
    function: Builtin,
    args: &[u64; 8],
) -> Result<u64, Stopped> {
    match function {
        Builtin::Printf => {
            let text = string(warp, env, lane, args[0])?;
            let mut arguments = Arguments::new(args[1]);
            let printed = format(
                &text,
                &mut |bytes| {
                    let at = arguments.place(bytes);
                    let mut all = [0; 8];
                    read(warp, env, Space::Generic, lane, at, &mut all[..bytes as usize])?;
                    Ok(u64::from_le_bytes(all))
                },
                &mut |address| string(warp, env, lane, address),
            )?;
            env.printed.extend_from_slice(&printed.text);
            Ok(u64::from(printed.arguments))
        }
        Builtin::Malloc => Ok(env.heap.allocate(env.memory, args[0])),
        Builtin::Free => {
            if args[0] != 0 && !env.heap.free(args[0]) {
                let text = format!("free of {:#x}, which malloc did not give", args[0]);
                return Err((lane, StepError::Assertion(text)));
            }
            Ok(0)
        }
        Builtin::AssertFail => {
            let part = |i: usize| -> Result<String, Stopped> {
                Ok(String::from_utf8_lossy(&string(warp, env, lane, args[i])?).into_owned())
            };
            let (message, file, function) = (part(0)?, part(1)?, part(3)?);
            let text =
                format!("{file}:{}: {function}: Assertion `{message}` failed", args[2] as u32);
            Err((lane, StepError::Assertion(text)))
        }
    }
}

/// The bytes at a generic address before the first zero.
fn string(warp: &Warp, env: &Env<'_>, lane: usize, address: u64) -> Result<Vec<u8>, Stopped> {
    let mut text = Vec::new();
    for i in 0..MAX_STRING {
        let mut byte = [0];
        read(warp, env, Space::Generic, lane, address.wrapping_add(i), &mut byte)?;
        if byte[0] == 0 {
            break;
        }
        text.push(byte[0]);
    }
    Ok(text)
}
