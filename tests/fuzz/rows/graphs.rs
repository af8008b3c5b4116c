//! Programs that have this family have graphs of blocks (`generate/graph.rs`); what stands here
//! goes between and into them.

use super::{Family, kernel, row};

pub const GRAPHS: Family = Family {
    name: "graphs",
    weight: 8,
    rows: &[
        kernel("st.global.b32 [%rw+#(0,60,4)], !b32"),
        kernel("ld.global.b32 =b32, [%rw+#(0,60,4)]"),
        row("{ .reg .b32 %t; mov.u32 %t, %laneid; xor.b32 =b32, !b32, %t; }"),
    ],
};
