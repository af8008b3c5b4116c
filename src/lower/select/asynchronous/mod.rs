//! Copies that run by themselves, the barriers in memory that count them, and what names them:
//! tensor maps and clusters.

pub mod bulk;
pub mod cluster;
pub mod cp_async;
pub mod groups;
pub mod mbarrier;
pub mod tensor;
pub mod tensor_map;
