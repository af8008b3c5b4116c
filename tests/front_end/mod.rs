//! PTX as text: what is accepted, what is refused in which words, and what is made of it.

mod apart;
mod broken;
mod learned;
mod limits;
mod load;
mod matrix_forms;
mod mutations;
mod program;
mod verdicts;
