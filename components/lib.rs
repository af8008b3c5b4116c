//! The Ori IR as data: what an instruction, a block, a register and a function are made of.
//!
//! One bevy `World` holds one function. Instructions, blocks and virtual registers are entities
//! whose dense ids are rows of their tables; operands lie in an arena beside them. Order lives in
//! the layout and each block's instruction list, never in a query. [`Body`] is the door to it all:
//! phases get it from the system parameters [`Code`] and [`Reader`].

#![warn(missing_docs)]

pub mod block;
pub mod body;
pub mod control;
pub mod edges;
pub mod edit;
pub mod facts;
pub mod heap;
pub mod ids;
pub mod inst;
pub mod lists;
pub mod modifier;
pub mod mods;
pub mod names;
pub mod opcode;
pub mod operand;
pub mod packed;
pub mod phis;
pub mod pseudo;
pub mod register;
pub mod scratch;
pub mod symbol;
pub mod text;
pub mod validate;
pub mod work;
pub mod world;

pub use block::Block;
pub use body::{Arena, Body};
pub use control::Control;
pub use edit::{Adopter, Cloned, Cloner, Copies, FlowEdit, Order, Region, Rewrite};
pub use facts::Facts;
pub use ids::{BlockId, InstId, VRegId};
pub use inst::{Guard, Inst, Loc, Row, View};
pub use modifier::{Mod, Mods};
pub use mods::ModsId;
pub use opcode::{Opcode, Props};
pub use operand::{ConstRef, MemRef, Operand, RegFlags, RegUse};
pub use register::{Reg, RegFile, VReg};
pub use symbol::{Symbol, SymbolKey, SymbolKind};
pub use world::{Code, Function, Reader};
