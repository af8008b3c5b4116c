//! Calls of the functions of the system: arguments from registers, results to them.

use super::env::{Env, LaneFault};
use crate::printf::{Arguments, format};
use crate::simulator::error::Cause;
use crate::simulator::operand::{FIRST_ROW, PRED_TRUE, PredDst};
use crate::simulator::system::SystemCall;
use crate::simulator::warp::{Warp, poison};

/// Characters of a string at most.
const MAX_STRING: u64 = 1 << 16;

/// Text of a launch at most (bytes); what follows is lost, as it is when a device's buffer is full.
const MAX_PRINTED: usize = 64 << 20;

/// Registers that a call may change.
const SCRATCH: [u16; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The first register of the return address.
const RETURN: u16 = 20;

fn register(warp: &Warp, index: u16, lane: usize) -> u64 {
    warp.row(FIRST_ROW + index, 0)[lane].into()
}

fn pair(warp: &Warp, index: u16, lane: usize) -> u64 {
    register(warp, index, lane) | register(warp, index + 1, lane) << 32
}

/// Runs a function for a lane and gives the address where it goes on.
pub fn call(
    env: &mut Env<'_>,
    warp: &mut Warp,
    call: SystemCall,
    registers: u32,
    lane: usize,
) -> Result<u64, LaneFault> {
    if registers < u32::from(RETURN) + 2 {
        let why = format!("a call of {call:?} with {registers} registers");
        return Err((Cause::Other(why), lane));
    }
    let result = match call {
        SystemCall::Printf => print(env, warp, lane)?,
        SystemCall::Malloc => {
            let size = pair(warp, 4, lane);
            env.system.heap.allocate(env.memory, size)
        }
        SystemCall::Free => {
            let address = pair(warp, 4, lane);
            if address != 0 && !env.system.heap.release(env.memory, address) {
                let why = format!("free of {address:#x}, which malloc did not give");
                return Err((Cause::Other(why), lane));
            }
            0
        }
        SystemCall::AssertFail => return Err((assertion(env, warp, lane)?, lane)),
    };
    let cells = match call {
        SystemCall::Malloc => 2,
        SystemCall::Printf => 1,
        _ => 0,
    };
    for index in SCRATCH {
        let kept = (4..4 + cells).contains(&index);
        let part = (result >> (32 * u64::from(index.saturating_sub(4).min(1)))) as u32;
        let value = if kept { part } else { poison(index.into()) };
        warp.row_mut(FIRST_ROW + index, 0)[lane] = value;
    }
    for index in 0..PRED_TRUE {
        // An odd pattern: neither all true nor all false.
        let bits = if index % 2 == 0 { !0 } else { 0 };
        warp.set_pred(PredDst { uniform: false, index }, 1 << lane, bits);
    }
    Ok(pair(warp, RETURN, lane))
}

/// `vprintf(format, arguments)`: how many arguments it found.
fn print(env: &mut Env<'_>, warp: &Warp, lane: usize) -> Result<u64, LaneFault> {
    let text = string(env, warp, lane, pair(warp, 4, lane))?;
    let mut arguments = Arguments::new(pair(warp, 6, lane));
    let printed = {
        let env = &*env;
        format(
            &text,
            &mut |bytes| {
                let mut all = [0; 8];
                let at = arguments.place(bytes);
                env.read_generic(warp, at, lane, &mut all[..bytes as usize])?;
                Ok(u64::from_le_bytes(all))
            },
            &mut |address| string(env, warp, lane, address),
        )?
    };
    let room = MAX_PRINTED.saturating_sub(env.system.printed.len());
    let text = &printed.text[..printed.text.len().min(room)];
    env.system.printed.extend_from_slice(text);
    Ok(printed.arguments.into())
}

/// `__assertfail(message, file, line, function, character size)`
fn assertion(env: &Env<'_>, warp: &Warp, lane: usize) -> Result<Cause, LaneFault> {
    let text = |index: u16| -> Result<String, LaneFault> {
        let bytes = string(env, warp, lane, pair(warp, index, lane))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (message, file, function) = (text(4)?, text(6)?, text(10)?);
    let line = register(warp, 8, lane);
    Ok(Cause::Other(format!("{file}:{line}: {function}: Assertion `{message}` failed")))
}

/// The bytes at a generic address before the first zero.
fn string(env: &Env<'_>, warp: &Warp, lane: usize, address: u64) -> Result<Vec<u8>, LaneFault> {
    let mut text = Vec::new();
    for at in 0..MAX_STRING {
        let mut byte = [0];
        env.read_generic(warp, address.wrapping_add(at), lane, &mut byte)?;
        if byte[0] == 0 {
            break;
        }
        text.push(byte[0]);
    }
    Ok(text)
}
