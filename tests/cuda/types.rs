//! Types of CUDA C that programs have: numbers, structs, vectors and arrays.
//!
//! A value of any type is a row of cells, one for each number in it: programs never look at a
//! number as another type.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Scalar {
    pub const INTEGERS: [Scalar; 8] = [
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
    ];

    pub fn bits(self) -> u32 {
        match self {
            Scalar::I8 | Scalar::U8 => 8,
            Scalar::I16 | Scalar::U16 => 16,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 64,
        }
    }

    pub fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    pub fn signed(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    }

    pub fn float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// The unsigned type in which arithmetic of this one wraps around: at least 32 bits, as C
    /// promotes.
    pub fn wide(self) -> Scalar {
        if self.bits() == 64 { Scalar::U64 } else { Scalar::U32 }
    }

    /// The name that the head of every file gives it.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I8 => "i8",
            Scalar::U8 => "u8",
            Scalar::I16 => "i16",
            Scalar::U16 => "u16",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// A cell's content for a number of this type: integers are extended to 64 bits by their sign,
    /// bits beyond are dropped.
    pub fn wrap(self, x: u64) -> u64 {
        match self {
            Scalar::I8 => x as i8 as u64,
            Scalar::U8 => x as u8 as u64,
            Scalar::I16 => x as i16 as u64,
            Scalar::U16 => x as u16 as u64,
            Scalar::I32 => x as i32 as u64,
            Scalar::U32 | Scalar::F32 => x as u32 as u64,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => x,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Number(Scalar),
    Struct(usize),
    Array(Box<Type>, usize),
}

/// A struct of a program, or one of the language's vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Struct {
    /// The name of a vector.
    pub vector: Option<&'static str>,
    pub fields: Vec<Type>,
}

/// Vectors of the language with their numbers.
pub const VECTORS: [(&str, Scalar, usize); 12] = [
    ("int2", Scalar::I32, 2),
    ("int4", Scalar::I32, 4),
    ("uint3", Scalar::U32, 3),
    ("uint4", Scalar::U32, 4),
    ("char4", Scalar::I8, 4),
    ("uchar2", Scalar::U8, 2),
    ("short2", Scalar::I16, 2),
    ("ushort4", Scalar::U16, 4),
    ("ulonglong2", Scalar::U64, 2),
    ("float2", Scalar::F32, 2),
    ("float4", Scalar::F32, 4),
    ("double2", Scalar::F64, 2),
];

/// The structs of a program: what types mean.
pub type Structs = [Struct];

impl Type {
    pub fn number(&self) -> Option<Scalar> {
        match self {
            Type::Number(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// How many numbers a value has.
    pub fn cells(&self, structs: &Structs) -> usize {
        match self {
            Type::Number(_) => 1,
            Type::Struct(index) => structs[*index].fields.iter().map(|f| f.cells(structs)).sum(),
            Type::Array(element, count) => count * element.cells(structs),
        }
    }

    /// Size and alignment in bytes.
    pub fn layout(&self, structs: &Structs) -> (usize, usize) {
        match self {
            Type::Number(scalar) => (scalar.bytes(), scalar.bytes()),
            Type::Array(element, count) => {
                let (size, align) = element.layout(structs);
                (size * count, align)
            }
            Type::Struct(index) => {
                let this = &structs[*index];
                let (mut size, mut align) = (0usize, 1);
                for field in &this.fields {
                    let (bytes, own) = field.layout(structs);
                    size = size.next_multiple_of(own) + bytes;
                    align = align.max(own);
                }
                // Vectors of two or four numbers are aligned as a whole, up to 16 bytes.
                if this.vector.is_some() && size.is_power_of_two() {
                    align = size.min(16);
                }
                (size.next_multiple_of(align), align)
            }
        }
    }

    /// All numbers in a value, in order, as paths of fields and elements.
    pub fn leaves(&self, structs: &Structs) -> Vec<(Vec<Inside>, Scalar)> {
        let within = |part: &Type, step: Inside| -> Vec<(Vec<Inside>, Scalar)> {
            let leaves = part.leaves(structs).into_iter();
            leaves.map(|(path, ty)| ([vec![step], path].concat(), ty)).collect()
        };
        match self {
            Type::Number(scalar) => vec![(Vec::new(), *scalar)],
            Type::Struct(index) => {
                let fields = structs[*index].fields.iter().enumerate();
                fields.flat_map(|(i, field)| within(field, Inside::Field(i))).collect()
            }
            Type::Array(element, count) => {
                (0..*count).flat_map(|i| within(element, Inside::Element(i))).collect()
            }
        }
    }
}

/// A step to a part of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    Field(usize),
    Element(usize),
}

impl Struct {
    pub fn field_name(&self, index: usize) -> String {
        match self.vector {
            Some(_) => ["x", "y", "z", "w"][index].to_string(),
            None => format!("f{index}"),
        }
    }

    /// The cell at which a field begins.
    pub fn field_cell(&self, index: usize, structs: &Structs) -> usize {
        self.fields[..index].iter().map(|f| f.cells(structs)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_are_laid_out_as_c_does() {
        let vector = |name, ty, n| Struct { vector: Some(name), fields: vec![Type::Number(ty); n] };
        let structs = [
            Struct {
                vector: None,
                fields: vec![
                    Type::Number(Scalar::U8),
                    Type::Number(Scalar::I64),
                    Type::Array(Box::new(Type::Number(Scalar::I16)), 3),
                ],
            },
            vector("int4", Scalar::I32, 4),
            vector("uint3", Scalar::U32, 3),
        ];
        assert_eq!(Type::Struct(0).layout(&structs), (24, 8));
        assert_eq!(Type::Struct(1).layout(&structs), (16, 16));
        assert_eq!(Type::Struct(2).layout(&structs), (12, 4));
        assert_eq!(Type::Struct(0).cells(&structs), 5);
        assert_eq!(structs[0].field_cell(2, &structs), 2);
    }

    #[test]
    fn cells_hold_integers_extended_by_their_sign() {
        assert_eq!(Scalar::I8.wrap(0x1ff), u64::MAX);
        assert_eq!(Scalar::U8.wrap(0x1ff), 0xff);
        assert_eq!(Scalar::I32.wrap(0x8000_0000), 0xffff_ffff_8000_0000);
    }
}
