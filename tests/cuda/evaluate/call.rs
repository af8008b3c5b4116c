//! Calls: a frame for the threads that call together.

use super::stmt::Flow;
use super::{Address, DEEPEST, Machine, Numbers, Slot, Threads, each};
use crate::program::{Argument, Lvalue, Value};

impl Machine<'_> {
    /// Calls a function of numbers.
    pub(super) fn call_numbers(
        &mut self,
        function: usize,
        operands: Vec<Numbers>,
        active: Threads,
    ) -> Result<Numbers, String> {
        if active == 0 {
            return Ok(vec![0; self.threads]);
        }
        let mut frame = self.frame(function, active);
        for (slot, operand) in frame.slots.iter_mut().zip(operands) {
            *slot = Slot::Cells(operand);
        }
        self.enter(function, frame, active)
    }

    pub(super) fn call(
        &mut self,
        into: Option<&Lvalue>,
        function: usize,
        args: &[Argument],
        active: Threads,
    ) -> Result<(), String> {
        let threads = self.threads;
        let mut frame = self.frame(function, active);
        if self.program.functions[function].masked {
            self.check_mask(active)?;
        }
        for (index, argument) in args.iter().enumerate() {
            frame.slots[index] = match argument {
                Argument::Number(expr) => Slot::Cells(self.value(expr, active)?),
                Argument::Pointer(lvalue) => Slot::Pointers(self.place(lvalue, active)?.0),
                Argument::Value(lvalue) => {
                    let (at, ty) = self.place(lvalue, active)?;
                    let count = ty.cells(&self.program.structs);
                    let mut cells = vec![0; count * threads];
                    for (t, cell) in each(active).flat_map(|t| (0..count).map(move |c| (t, c))) {
                        let from = Address { cell: at[t].cell + cell, ..at[t] };
                        cells[cell * threads + t] = self.get(t, from);
                    }
                    Slot::Cells(cells)
                }
            };
        }
        let result = self.enter(function, frame, active)?;
        if let Some(into) = into {
            let (at, ty) = self.place(into, active)?;
            let count = ty.cells(&self.program.structs);
            for (t, cell) in each(active).flat_map(|t| (0..count).map(move |c| (t, c))) {
                let to = Address { cell: at[t].cell + cell, ..at[t] };
                self.set(t, to, result[cell * threads + t]);
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        function: usize,
        frame: super::Frame,
        active: Threads,
    ) -> Result<Vec<u64>, String> {
        if self.frames.len() > DEEPEST {
            return Err("calls are too deep".to_string());
        }
        let program = self.program;
        self.frames.push(frame);
        let body = &program.functions[function];
        let left = self.list(&body.body, active, &mut Flow::default())?;
        if left != 0 && body.result.is_some() {
            return Err("a function ends without a result".to_string());
        }
        Ok(self.frames.pop().map(|frame| frame.result).unwrap_or_default())
    }

    /// `return`: what the function gives.
    pub(super) fn result(&mut self, value: &Value, active: Threads) -> Result<(), String> {
        let threads = self.threads;
        let (cells, count) = match value {
            Value::Number(expr) => (self.value(expr, active)?, 1),
            Value::Struct(lvalue) => {
                let (at, ty) = self.place(lvalue, active)?;
                let count = ty.cells(&self.program.structs);
                let mut cells = vec![0; count * threads];
                for (t, cell) in each(active).flat_map(|t| (0..count).map(move |c| (t, c))) {
                    let from = Address { cell: at[t].cell + cell, ..at[t] };
                    cells[cell * threads + t] = self.get(t, from);
                }
                (cells, count)
            }
        };
        let result = &mut self.top().result;
        if result.len() != count * threads {
            return Err("a result of another type".to_string());
        }
        for (t, cell) in each(active).flat_map(|t| (0..count).map(move |c| (t, c))) {
            result[cell * threads + t] = cells[cell * threads + t];
        }
        Ok(())
    }
}
