//! What compiling costs: shapes of PTX whose size is a number, orias beside ptxas in turns, and
//! instructions counted.

pub mod callgrind;
pub mod order;
pub mod shapes;
pub mod turns;
