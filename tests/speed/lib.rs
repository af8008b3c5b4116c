//! What compiling costs: shapes of PTX whose size is a number, and orias beside ptxas in turns.

pub mod shapes;
pub mod turns;
