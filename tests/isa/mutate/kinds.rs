//! The kinds of change.

use super::place::Change;
use super::{instructions, modules};

/// Name and function of each kind.
#[rustfmt::skip]
pub const KINDS: &[(&str, Change)] = &[
    ("type", instructions::change_type),
    ("modifier dropped", instructions::drop_modifier),
    ("modifier added", instructions::add_modifier),
    ("modifier changed", instructions::change_modifier),
    ("modifiers swapped", instructions::swap_modifiers),
    ("opcode", instructions::change_opcode),
    ("operand kind", instructions::change_operand_kind),
    ("register", instructions::change_register),
    ("operand dropped", instructions::drop_operand),
    ("operand added", instructions::add_operand),
    ("operands swapped", instructions::swap_operands),
    ("immediate", instructions::change_immediate),
    ("vector width", instructions::change_vector),
    ("state space of an instruction", instructions::change_space),
    ("guard", instructions::change_guard),
    ("offset", instructions::change_offset),
    ("call", instructions::change_call),
    ("type of a declaration", modules::declaration_type),
    ("state space of a declaration", modules::declaration_space),
    ("alignment", modules::alignment),
    ("size of an array, number of registers", modules::declaration_count),
    ("declaration dropped", modules::drop_declaration),
    ("declaration doubled", modules::double_declaration),
    ("label", modules::label),
    ("function", modules::function),
    ("linkage", modules::linkage),
    ("parameter", modules::parameter),
    ("directive of a function", modules::directive),
    ("initial value", modules::initial_value),
    ("version", modules::version),
    ("target", modules::target),
    ("version and target", modules::version_and_target),
    ("head", modules::head),
    ("token dropped", modules::drop_token),
    ("token doubled", modules::double_token),
    ("tokens swapped", modules::swap_tokens),
    ("token replaced", modules::replace_token),
    ("character", modules::character),
];
