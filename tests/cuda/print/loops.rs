//! Loops.

use super::Printer;
use crate::program::{Expr, Loop, LoopKind};

impl Printer<'_> {
    pub(super) fn turns(&mut self, this: &Loop) {
        let (counter, most) = (format!("v{}", this.counter), this.most);
        let step = this.step.max(1);
        let bound = |printer: &Self| match &this.head {
            Expr::Constant(_, bits) => format!("{}", *bits as u32 % (most + 1)),
            head => format!("(i32)((u32){} % {})", printer.expr(head), most + 1),
        };
        if let Some(unroll) = this.unroll {
            self.line(&format!("#pragma unroll {unroll}"));
        }
        let mask = self.mask;
        match this.kind {
            LoopKind::For => {
                let bound = bound(self);
                self.line(&format!(
                    "for ({counter} = 0; {counter} < {bound}; {counter} += {step}) {{"
                ));
                self.inside(&this.body);
                self.line("}");
            }
            LoopKind::Down => {
                let bound = bound(self);
                self.line(&format!(
                    "for ({counter} = {bound}; {counter} > 0; {counter} -= {step}) {{"
                ));
                self.inside(&this.body);
                self.line("}");
            }
            LoopKind::While => {
                self.line(&format!("{counter} = 0;"));
                let head = self.cond(&this.head);
                self.line(&format!("while ({counter} < {most} && {head}) {{"));
                self.line(&format!("    {counter}++;"));
                self.inside(&this.body);
                self.line("}");
            }
            LoopKind::DoWhile => {
                self.line(&format!("{counter} = 0;"));
                self.line("do {");
                self.line(&format!("    {counter}++;"));
                self.inside(&this.body);
                let head = self.cond(&this.head);
                self.line(&format!("}} while ({counter} < {most} && {head});"));
            }
            LoopKind::Together => {
                let name = self.fresh();
                self.masks += 1;
                let inner = self.masks;
                self.line("{");
                self.depth += 1;
                self.line(&format!("u32 m{inner} = m{mask};"));
                self.line(&format!("for ({counter} = 0;; {counter} += {step}) {{"));
                self.depth += 1;
                let head = self.cond(&this.head);
                self.line(&format!("const bool c{name} = {counter} < {most} && {head};"));
                self.line(&format!("m{inner} = __ballot_sync(m{inner}, c{name});"));
                self.line(&format!("if (!c{name}) break;"));
                self.mask = inner;
                self.list(&this.body);
                self.mask = mask;
                self.depth -= 1;
                self.line("}");
                self.depth -= 1;
                self.line("}");
            }
        }
    }
}
