//! The Ori IR as data: what an instruction, a block, a register and a function are made of.
//!
//! One bevy `World` holds one function. Instructions, blocks and virtual registers are entities and also carry dense ids;
//! order lives in [`Layout`] and each block's instruction list, never in a query. [`Body`] is the door to it all.

pub mod block;
pub mod body;
pub mod control;
pub mod inst;
pub mod modifier;
pub mod opcode;
pub mod operand;
pub mod register;
pub mod symbol;
pub mod text;
pub mod validate;

pub use block::{Block, BlockId, Layout};
pub use body::Body;
pub use control::Control;
pub use inst::{Guard, Inst, InstId, Loc};
pub use modifier::{Mod, Mods};
pub use opcode::{Opcode, Props};
pub use operand::{ConstRef, MemRef, Operand, RegFlags, RegUse};
pub use register::{Reg, RegFile, VReg, VRegId};
pub use symbol::{Symbol, SymbolKey, SymbolKind};
