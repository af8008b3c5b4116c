//! A program from a seed.
//!
//! A program has the families of instructions that every one has and some others, so that each kind
//! of instruction also meets programs that are otherwise simple. Statements are drawn one after the
//! other; an operand is a variable that is in scope, by preference a young one, or a constant. What
//! the threads of a warp or block do together stands only where they are together: [`Place`] knows
//! who comes.

mod graph;

use crate::program::{
    Call, Class, Cond, Depth, Function, If, Loop, Op, Operand, Output, Piece, Program, Slot, Stmt,
    Switch, Var, VarInfo,
};
use crate::random::Random;
use crate::rows::{ALWAYS, ASKED, FAMILIES, Family, Needs, first};
use crate::template::{Part, draw};

/// Outputs at the end of a program at most.
const OUTPUTS: usize = 14;

/// What programs under pressure begin with.
const HELD: [Class; 10] = [
    Class::B32,
    Class::B32,
    Class::B64,
    Class::B128,
    Class::F32,
    Class::F64,
    Class::Pred,
    Class::Pred,
    Class::B16,
    Class::F16x2,
];

/// Fewer variables of a class than this, and a program of matrices makes more.
const FEW: usize = 8;

/// Lists of statements inside each other at most.
const DEPTH: u32 = 3;

/// What a run asks of its programs.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Only the families whose names begin so, besides those that every program has.
    pub only: Option<String>,
    /// Besides what a program has by its seed, the families whose names begin so; several with
    /// commas between.
    pub also: Option<String>,
    /// Instructions may have constants alone for operands, loops constant counters, and variables
    /// start as a constant zero. ptxas 13.0.88 folds constants wrongly in so many places that such
    /// programs are for our compiler alone.
    pub constants: bool,
}

/// The program of a seed.
pub fn program(seed: u64, wishes: &Wishes) -> Program {
    let mut random = Random::new(seed);
    let block = match random.below(12) {
        0 => [random.range(1, 70) as u32, 1, 1],
        1 => [8, 4, 1],
        2 => [4, 3, 5],
        3 | 4 => [64, 1, 1],
        _ => [32, 1, 1],
    };
    let grid = if random.chance(20) { 2 } else { 1 };
    let (families, calls) = choose(&mut random, wishes);
    let begins = |name: &str| families.iter().any(|f| f.name.starts_with(name));
    let together = begins("matrix") || begins("warpgroup");
    let (pressure, graphs) = (begins("pressure"), begins("graphs"));
    let least = if begins("warpgroup") { 128 } else { 32 };
    let block = match (together, block) {
        (false, block) => block,
        (true, [x, ..]) if least == 128 => [if x == 64 { 256 } else { 128 }, 1, 1],
        (true, [8, 4, 1] | [64, 1, 1]) => block,
        (true, [4, 3, 5]) => [16, 2, 3],
        (true, _) => [32, 1, 1],
    };
    let mut left = random.range(6, 34) as usize;
    let mut most_registers = None;
    if pressure {
        left += left / 2;
        // ptxas wants 64 for some products of doubles; one of a warpgroup takes up to 128.
        let some = if together { [64, 64, 72, 80, 96, 128] } else { [24, 32, 40, 64, 96, 128] };
        most_registers = (least == 32 && random.chance(60)).then(|| *random.pick(&some));
    }
    let mut maker = Maker {
        families,
        pressure,
        graphs,
        together,
        left,
        program: Program {
            seed,
            grid,
            block,
            kernel: Function::default(),
            functions: Vec::new(),
            outputs: Vec::new(),
            shared_words: 0,
            least_threads: least,
            most_registers,
            constants: wishes.constants,
        },
        function: Function::default(),
        scope: Vec::new(),
        gone: false,
        control: !random.chance(25),
        warps: random.chance(60),
        depth: None,
        random,
    };
    if calls {
        for _ in 0..maker.random.range(1, 2) {
            maker.function();
        }
    }
    maker.kernel();
    maker.program
}

/// The families of a program, and whether it calls functions.
fn choose(random: &mut Random, wishes: &Wishes) -> (Vec<&'static Family>, bool) {
    let always = |family: &&&Family| ALWAYS.contains(&family.name);
    let mut chosen: Vec<&'static Family> = FAMILIES.iter().filter(always).copied().collect();
    let named = |name: &str| {
        let all = FAMILIES.iter().chain(ASKED).copied();
        all.filter(|f| f.name.starts_with(name)).collect::<Vec<_>>()
    };
    if let Some(only) = &wishes.only {
        chosen.extend(named(only));
        return (chosen, only == "call");
    }
    for _ in 0..random.range(2, 7) {
        let family = FAMILIES[random.weighted(FAMILIES.iter().map(|f| f.weight))];
        if !chosen.iter().any(|c| c.name == family.name) {
            chosen.push(family);
        }
    }
    for family in wishes.also.iter().flat_map(|also| also.split(',')).flat_map(named) {
        if !chosen.iter().any(|c| c.name == family.name) {
            chosen.push(family);
        }
    }
    (chosen, random.chance(8))
}

/// Who comes to a statement.
#[derive(Clone, Debug)]
struct Place {
    /// The threads of a warp that come together, where that is known.
    mask: Option<Operand>,
    /// All threads of the block come, equally often.
    block: bool,
    /// Inside a loop that threads may leave by themselves.
    loops: bool,
    /// Inside a loop whose threads count on each other: nobody may end here.
    together: bool,
    level: u32,
}

struct Maker {
    random: Random,
    families: Vec<&'static Family>,
    /// Whole warps, or blocks, often go one way: some of the families are for them alone.
    together: bool,
    /// Much is alive at once.
    pressure: bool,
    /// Control flow is no tree everywhere.
    graphs: bool,
    /// Statements still to come.
    left: usize,
    program: Program,
    /// The function that is being made, the kernel or another.
    function: Function,
    scope: Vec<Var>,
    /// A thread may have ended before this point.
    gone: bool,
    control: bool,
    /// Masks of diverged threads are computed.
    warps: bool,
    /// The parameter that says how deep a recursive function may go.
    depth: Option<usize>,
}

impl Maker {
    fn kernel(&mut self) {
        let mask = if self.whole_warps() && self.random.chance(80) { "-1" } else { "%wm" };
        let place = Place {
            mask: Some(Operand::Text(mask.to_string())),
            block: true,
            loops: false,
            together: false,
            level: 0,
        };
        self.left = self.left.max(4);
        let mut body = Vec::new();
        // Something to begin with.
        for class in [Class::B32, Class::B32, Class::Pred] {
            self.first(class, &mut body, true);
        }
        if self.pressure {
            for _ in 0..self.random.range(10, 150) {
                let class = *self.random.pick(&HELD);
                self.first(class, &mut body, true);
            }
        }
        if self.graphs {
            self.graph(&place, &mut body);
        }
        while self.left > 0 {
            self.statement(&place, &mut body);
        }
        let mut outputs: Vec<Var> =
            self.scope.iter().copied().filter(|v| !self.function.info(*v).near).collect();
        outputs.reverse();
        outputs.truncate(match (self.pressure, self.together) {
            (true, _) => usize::MAX,
            (_, true) => 5 * OUTPUTS,
            _ => OUTPUTS,
        });
        for var in outputs {
            body.push(self.store(var));
        }
        self.program.kernel = std::mem::take(&mut self.function);
        self.program.kernel.body = body;
    }

    /// A device function. It may call those that were made before it, and itself.
    fn function(&mut self) {
        const CLASSES: [Class; 7] =
            [Class::B32, Class::B32, Class::B32, Class::B64, Class::F32, Class::F64, Class::B16];
        let recursive = self.random.chance(25);
        self.depth = recursive.then_some(self.program.functions.len());
        self.function = Function { recursive, ..Function::default() };
        for _ in 0..self.random.range(1, 4) {
            let class = *self.random.pick(&CLASSES);
            let var = self.function.var(VarInfo { class, near: false, fixed: false });
            self.function.params.push(var);
            self.scope.push(var);
        }
        let class = *self.random.pick(&CLASSES);
        let result = self.function.var(VarInfo { class, near: false, fixed: false });
        self.function.results.push(result);
        // The result must not stay what it is: write it first.
        self.scope.push(result);
        let place = Place { mask: None, block: false, loops: false, together: true, level: 1 };
        let mut body = Vec::new();
        let left = std::mem::replace(&mut self.left, self.random.range(2, 10) as usize);
        while self.left > 0 {
            self.statement(&place, &mut body);
        }
        self.left = left;
        self.scope.clear();
        self.depth = None;
        self.function.body = body;
        self.program.functions.push(std::mem::take(&mut self.function));
    }

    fn whole_warps(&self) -> bool {
        self.program.threads().is_multiple_of(32)
    }

    /// Whether the kernel itself is being made.
    fn in_kernel(&self) -> bool {
        self.function.params.is_empty()
    }

    fn list(&mut self, place: &Place, length: i64) -> Vec<Stmt> {
        let mut list = Vec::new();
        let scope = self.scope.len();
        for _ in 0..length {
            if self.left > 0 {
                self.statement(place, &mut list);
            }
        }
        self.scope.truncate(scope);
        list
    }

    fn statement(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        self.left = self.left.saturating_sub(1);
        let most = if self.pressure { 5 } else { DEPTH };
        let deeper = self.control && place.level < most;
        let calls = !self.program.functions.is_empty() || self.depth.is_some();
        let weights = [
            60,
            if deeper { 10 } else { 0 },
            if deeper { 5 } else { 0 },
            if deeper { 2 } else { 0 },
            if place.loops { 6 } else { 0 },
            if self.control && self.may_leave(place) { 1 } else { 0 },
            if calls { 14 } else { 0 },
            if self.in_kernel() && !self.scope.is_empty() { 3 } else { 0 },
            if self.graphs && place.level < 2 { 12 } else { 0 },
        ];
        match self.random.weighted(weights.into_iter()) {
            1 => self.branch(place, list),
            2 => self.repeat(place, list),
            3 => self.switch(place, list),
            4 => {
                let cond = self.cond(list);
                let leave = self.random.chance(60);
                list.push(if leave { Stmt::Break(cond) } else { Stmt::Continue(cond) });
            }
            5 => {
                let cond = self.cond(list);
                self.gone |= self.in_kernel();
                list.push(Stmt::Leave(cond));
            }
            6 => self.call(place, list),
            8 => self.graph(place, list),
            7 => {
                let var = *self.random.pick(&self.scope);
                if !self.function.info(var).near {
                    let store = self.store(var);
                    list.push(store);
                }
            }
            _ => self.op(place, list),
        }
    }

    /// A thread may end where nobody waits for it afterwards.
    fn may_leave(&self, place: &Place) -> bool {
        if self.in_kernel() { !place.together && self.left < 12 } else { true }
    }

    fn store(&mut self, var: Var) -> Stmt {
        let info = self.function.info(var);
        self.program.outputs.push(Output { class: info.class, near: info.near });
        Stmt::Store { slot: self.program.outputs.len() - 1, var }
    }

    fn mask(&self, place: &Place) -> Option<Operand> {
        place.mask.clone().filter(|_| !self.gone)
    }

    fn block(&self, place: &Place) -> bool {
        place.block && !self.gone
    }

    fn fixed(&mut self, class: Class) -> Var {
        self.function.var(VarInfo { class, near: false, fixed: true })
    }

    fn branch(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        let inside = Place { level: place.level + 1, ..place.clone() };
        let length = self.random.range(1, 5);
        let other = if self.random.chance(50) { self.random.range(1, 4) } else { 0 };
        if self.block(place) && self.random.chance(25) {
            // All threads go the same way.
            let row = "{ .reg .b32 %t; <ld.param.b32 %t, [n]/mov.u32 %t, %ctaid.x/mov.u32 %t, %ntid.x>; setp.<lt/gt/ne/eq>.u32 =pred, %t, #(0,64); }";
            let op = self.make("if", row, place, list, true);
            let Some(Slot::Def(var)) = op.slots.first() else { return };
            let cond = Cond { var: *var, negated: self.random.chance(30) };
            self.function.vars[cond.var.0 as usize].fixed = true;
            list.push(Stmt::Op(op));
            let then = self.list(&inside, length);
            let other = self.list(&inside, other);
            list.push(Stmt::If(If { cond, masks: None, then, other }));
            return;
        }
        if self.together && self.whole_warp(place) && self.random.chance(50) {
            let cond = self.alike(place, list);
            let inside = Place { block: false, ..inside };
            let then = self.list(&inside, length);
            let other = self.list(&inside, other);
            list.push(Stmt::If(If { cond, masks: None, then, other }));
            return;
        }
        let cond = self.cond(list);
        let masks = match self.mask(place) {
            Some(mask) if self.warps && self.random.chance(50) => {
                Some((mask, self.fixed(Class::B32), self.fixed(Class::B32)))
            }
            _ => None,
        };
        let side = |mask: Option<Var>| Place {
            mask: mask.map(Operand::Var),
            block: false,
            ..inside.clone()
        };
        let then = self.list(&side(masks.as_ref().map(|m| m.1)), length);
        let other = self.list(&side(masks.as_ref().map(|m| m.2)), other);
        list.push(Stmt::If(If { cond, masks, then, other }));
    }

    /// All threads of the warp come.
    fn whole_warp(&self, place: &Place) -> bool {
        self.whole_warps() && matches!(self.mask(place), Some(Operand::Text(_)))
    }

    /// A predicate that is the same for all threads of the warp.
    fn alike(&mut self, place: &Place, list: &mut Vec<Stmt>) -> Cond {
        let row = "vote.sync.<any/all>.pred =pred, ~pred, -1";
        let op = self.make("if", row, place, list, true);
        let negated = self.random.chance(30);
        let Some(Slot::Def(var)) = op.slots.first() else {
            unreachable!("the row begins with a result");
        };
        let cond = Cond { var: *var, negated };
        self.function.vars[cond.var.0 as usize].fixed = true;
        list.push(Stmt::Op(op));
        cond
    }

    /// A number that is the same for all threads of the block, or of the warp, and which of the two
    /// it is.
    fn number_alike(&mut self, place: &Place, list: &mut Vec<Stmt>) -> (Operand, bool) {
        let block = self.block(place) && self.random.chance(60);
        let row = if block {
            "{ .reg .b32 %t, %u; ld.param.b32 %t, [n]; mov.u32 %u, <%ctaid.x/%ntid.x/%ctaid.y>; mad.lo.u32 =b32, %t, #(0,5), %u; }"
        } else {
            "<redux.sync.or.b32 =b32, !b32, -1/shfl.sync.idx.b32 =b32, !b32, #(0,31), 31, -1>"
        };
        let op = self.make("loop", row, place, list, true);
        let Some(Slot::Def(var)) = op.slots.first() else {
            unreachable!("the row begins with a result");
        };
        let var = *var;
        self.function.vars[var.0 as usize].fixed = true;
        list.push(Stmt::Op(op));
        (Operand::Var(var), block)
    }

    fn repeat(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        let most = match place.level {
            0 => 7,
            1 | 2 => 4,
            _ => 2,
        };
        let most = self.random.range(1, most) as u32;
        let (test_last, down) = (self.random.chance(40), self.random.chance(30));
        let (counter, bound) = (self.fixed(Class::B32), self.fixed(Class::B32));
        let together = self.together && self.whole_warp(place) && self.random.chance(60);
        let alike = together || self.mask(place).is_some() && self.random.chance(30);
        let mut block = place.block;
        let count = if together {
            let (count, whole) = self.number_alike(place, list);
            block &= whole;
            count
        } else if alike {
            Operand::Bits(self.random.below(most as usize + 1) as u64)
        } else {
            self.operand(Class::B32, false, list)
        };
        let (mask, inside) = if alike {
            (None, Place { loops: false, together: true, block, ..place.clone() })
        } else {
            match self.mask(place) {
                Some(mask) if self.warps && self.random.chance(40) => {
                    let running = self.fixed(Class::B32);
                    let here = Some(Operand::Var(running));
                    let inside =
                        Place { mask: here, block: false, loops: false, together: true, ..*place };
                    (Some((mask, running)), inside)
                }
                _ => (None, Place { mask: None, block: false, loops: true, ..*place }),
            }
        };
        let inside = Place { level: place.level + 1, ..inside };
        let scope = self.scope.len();
        // ptxas unrolls a loop of a constant count: its counter is a constant then.
        if self.program.constants || !matches!(count, Operand::Bits(_)) {
            self.scope.push(counter);
        }
        let length = self.random.range(1, 5);
        let body = self.list(&inside, length);
        self.scope.truncate(scope);
        list.push(Stmt::Loop(Loop { count, most, test_last, down, counter, bound, mask, body }));
    }

    fn switch(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        let together = self.together && self.whole_warp(place) && self.random.chance(70);
        let (index, block) = if together {
            self.number_alike(place, list)
        } else {
            (self.operand(Class::B32, false, list), false)
        };
        let which = self.fixed(Class::B32);
        let mask = match self.mask(place) {
            _ if together => None,
            Some(mask) if self.warps && self.random.chance(50) => {
                Some((mask, self.fixed(Class::B32)))
            }
            _ => None,
        };
        let inside = Place {
            mask: match &mask {
                Some(mask) => Some(Operand::Var(mask.1)),
                None => self.mask(place).filter(|_| together),
            },
            block,
            level: place.level + 1,
            ..place.clone()
        };
        let scope = self.scope.len();
        self.scope.push(which);
        let many = self.pressure && self.random.chance(30);
        let count = if many { self.random.range(6, 48) } else { self.random.range(2, 5) };
        let cases = (0..count)
            .map(|_| {
                let length = self.random.range(0, 3);
                let case = self.list(&inside, length);
                // Who goes on with the next case meets threads that its mask does not name.
                (case, mask.is_none() && self.random.chance(25))
            })
            .collect();
        self.scope.truncate(scope);
        list.push(Stmt::Switch(Switch { index, which, mask, cases }));
    }

    fn call(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        let own = self.program.functions.len();
        let itself = self.depth == Some(own) && (own == 0 || self.random.chance(60));
        let function = if itself { own } else { self.random.below(own) };
        let callee = match itself {
            true => self.function.clone(),
            false => self.program.functions[function].clone(),
        };
        let depth = match (itself, callee.recursive) {
            (true, _) => Some(Depth::Less),
            (_, true) => Some(Depth::Number(self.random.range(0, 3) as u32)),
            _ => None,
        };
        let classes = |list: &[Var]| list.iter().map(|v| callee.info(*v).class).collect::<Vec<_>>();
        let signature = |f: &Function| {
            let class = |v: &Var| f.info(*v).class;
            let classes = f.params.iter().chain(&f.results).map(class);
            (f.recursive, f.params.len(), classes.collect::<Vec<_>>())
        };
        // Another function of the same kind, if there is one, else the same one.
        let other = self.program.functions.iter().position(|f| signature(f) == signature(&callee));
        let indirect = match other {
            Some(other) if !itself && self.random.chance(25) => Some((self.cond(list), other)),
            _ => None,
        };
        let args = classes(&callee.params)
            .into_iter()
            .map(|class| {
                let constant = self.program.constants && class.has_constants();
                self.operand(class, constant, list)
            })
            .collect();
        let results: Vec<Var> =
            classes(&callee.results).into_iter().map(|class| self.result(class, &[])).collect();
        let _ = place;
        for var in &results {
            self.see(*var);
        }
        list.push(Stmt::Call(Call { function, indirect, depth, args, results }));
    }

    /// A predicate to branch by.
    fn cond(&mut self, list: &mut Vec<Stmt>) -> Cond {
        // A fresh comparison divides threads better than an old one.
        if self.random.chance(40) {
            let row = "setp.<eq/ne/lt/le/gt/ge>.<s32/u32> =pred, !b32, %b32";
            let place = Place { mask: None, block: false, loops: false, together: true, level: 0 };
            let op = self.make("comparison", row, &place, list, false);
            list.push(Stmt::Op(op));
        }
        match self.operand(Class::Pred, false, list) {
            Operand::Var(var) => {
                // Nothing writes it from here on: ptxas 13.0.88 takes a predicate that was true at
                // an outer branch for true at an inner one in a loop, though the loop has changed
                // it (found/predicate-of-two-branches.ptx).
                self.function.vars[var.0 as usize].fixed = true;
                Cond { var, negated: self.random.chance(40) }
            }
            other => unreachable!("a predicate is a variable, not {other:?}"),
        }
    }

    fn op(&mut self, place: &Place, list: &mut Vec<Stmt>) {
        for _ in 0..8 {
            let family =
                self.families[self.random.weighted(self.families.iter().map(|f| f.weight))];
            let row = family.rows[self.random.weighted(family.rows.iter().map(|r| r.weight))];
            let fits = match row.needs {
                Needs::Nothing => self.in_kernel() || !row.text.contains('?'),
                Needs::Kernel => self.in_kernel(),
                Needs::Warp => self.mask(place).is_some(),
                Needs::WholeWarp => self.whole_warp(place),
                Needs::Block => self.block(place),
            };
            if !fits {
                continue;
            }
            let mut op = self.make(family.name, row.text, place, list, false);
            let alone = matches!(row.needs, Needs::Nothing | Needs::Kernel)
                && !row.text.contains(';')
                && !row.text.starts_with('{');
            if alone && self.random.chance(10) {
                let preds = self.visible(Class::Pred);
                if !preds.is_empty() {
                    let var = *self.random.pick(&preds);
                    op.guard = Some(Cond { var, negated: self.random.chance(40) });
                }
            }
            let near: Vec<Var> = op
                .slots
                .iter()
                .filter_map(|slot| match slot {
                    Slot::Def(var) if self.function.info(*var).near => Some(*var),
                    _ => None,
                })
                .collect();
            list.push(Stmt::Op(op));
            for var in near {
                let store = self.store(var);
                list.push(store);
            }
            return;
        }
    }

    /// Variables of a class that can be read here.
    fn visible(&self, class: Class) -> Vec<Var> {
        let fits = |v: &Var| {
            let info = self.function.info(*v);
            info.class == class && !info.near
        };
        self.scope.iter().copied().filter(fits).collect()
    }

    /// A variable to write: a new one, or one that is in scope.
    fn result(&mut self, class: Class, taken: &[Var]) -> Var {
        let old: Vec<Var> = self
            .visible(class)
            .into_iter()
            .filter(|v| !self.function.info(*v).fixed && !taken.contains(v))
            .collect();
        if !old.is_empty() && self.random.chance(40) {
            return *self.random.pick(&old);
        }
        self.function.var(VarInfo { class, near: false, fixed: false })
    }

    /// A variable to read and write: one that is in scope, or a new one. That one does not begin as
    /// zero where ptxas takes part: 13.0.88 forgets to write sums of a warpgroup's product that
    /// begin alike (found/sums-that-begin-alike.ptx).
    fn changed(&mut self, class: Class, taken: &[Var], list: &mut Vec<Stmt>) -> Var {
        let young = self.visible(class).into_iter().rev();
        let mut old = young.filter(|v| !self.function.info(*v).fixed && !taken.contains(v));
        match old.next() {
            Some(var) if !self.random.chance(15) => var,
            _ if self.program.constants => {
                self.function.var(VarInfo { class, near: false, fixed: false })
            }
            _ => self.first(class, list, true),
        }
    }

    fn see(&mut self, var: Var) {
        // Written last, so young again.
        self.scope.retain(|v| *v != var || self.function.info(*v).fixed);
        self.scope.push(var);
    }

    fn operand(&mut self, class: Class, constant: bool, list: &mut Vec<Stmt>) -> Operand {
        let visible = self.visible(class);
        if constant && (visible.is_empty() || self.random.chance(18)) {
            return Operand::Bits(self.constant(class));
        }
        // Registers of a fragment that are all the same hide in which order they are.
        let few = self.together && visible.len() < FEW && self.random.chance(50);
        if visible.is_empty() || few || self.random.chance(4) {
            let in_kernel = self.in_kernel();
            return Operand::Var(self.first(class, list, in_kernel));
        }
        let count = visible.len();
        let at = self.random.below(count).max(self.random.below(count));
        Operand::Var(visible[at])
    }

    /// Makes a variable of a class from what is at hand.
    fn first(&mut self, class: Class, list: &mut Vec<Stmt>, in_kernel: bool) -> Var {
        let row = first(class.name(), in_kernel);
        let place = Place { mask: None, block: false, loops: false, together: true, level: 0 };
        let op = self.make("input", &row, &place, list, true);
        let var = op.slots.iter().find_map(|slot| match slot {
            Slot::Def(var) => Some(*var),
            _ => None,
        });
        list.push(Stmt::Op(op));
        var.unwrap_or(Var(0))
    }

    /// Fills a row's slots. With `fresh` its results are new variables and its operands constants.
    fn make(
        &mut self,
        family: &'static str,
        row: &str,
        place: &Place,
        list: &mut Vec<Stmt>,
        fresh: bool,
    ) -> Op {
        let mut pieces = Vec::new();
        let mut slots: Vec<Slot> = Vec::new();
        let mut written: Vec<Var> = Vec::new();
        for part in draw(row, &mut self.random) {
            let slot = match part {
                Part::Text(text) => {
                    pieces.push(Piece::Text(text));
                    continue;
                }
                Part::Again(slot) => {
                    pieces.push(Piece::Slot(slot));
                    continue;
                }
                Part::Def { class, near, new } => {
                    let new = new && !self.program.constants;
                    let var = if near || fresh || new {
                        self.function.var(VarInfo { class, near, fixed: false })
                    } else {
                        self.result(class, &written)
                    };
                    written.push(var);
                    Slot::Def(var)
                }
                Part::Change { class } => {
                    let var = self.changed(class, &written, list);
                    written.push(var);
                    Slot::Change(var)
                }
                Part::Use { class, constant, negatable } => {
                    let operand = if fresh && constant {
                        Operand::Bits(self.constant(class))
                    } else {
                        self.operand(class, constant, list)
                    };
                    let operand = match operand {
                        Operand::Var(var) if negatable && self.random.chance(30) => {
                            Operand::Not(var)
                        }
                        operand => operand,
                    };
                    Slot::Use { operand, class, constant }
                }
                Part::Number { low, high, step } => {
                    let at = self.random.below(((high - low) / step) as usize + 1) as i64;
                    Slot::Fixed(Operand::Text((low + at * step).to_string()))
                }
                Part::Mask => {
                    let mask = self.mask(place);
                    Slot::Fixed(mask.unwrap_or_else(|| Operand::Text("-1".to_string())))
                }
                Part::Word => {
                    self.program.shared_words += 1;
                    let offset = 8 * (self.program.shared_words - 1);
                    Slot::Fixed(Operand::Text(offset.to_string()))
                }
                Part::Threads => Slot::Fixed(Operand::Text(self.program.threads().to_string())),
            };
            pieces.push(Piece::Slot(slots.len()));
            slots.push(slot);
        }
        if !self.program.constants && !fresh {
            self.thin_constants(&mut slots, list);
        }
        for var in written {
            self.see(var);
        }
        Op { family, pieces, slots, guard: None }
    }

    /// Leaves an instruction one constant at most, and none where it has no other operand: nothing
    /// that it computes is known before the program runs.
    fn thin_constants(&mut self, slots: &mut [Slot], list: &mut Vec<Stmt>) {
        let mut constants: Vec<usize> = Vec::new();
        let mut operands = 0;
        for (at, slot) in slots.iter().enumerate() {
            if let Slot::Use { operand, .. } = slot {
                operands += 1;
                if matches!(operand, Operand::Bits(_)) {
                    constants.push(at);
                }
            }
        }
        if operands > 1 && !constants.is_empty() {
            constants.swap_remove(self.random.below(constants.len()));
        }
        for at in constants {
            if let Slot::Use { operand, class, .. } = &mut slots[at] {
                *operand = self.operand(*class, false, list);
            }
        }
    }

    /// The bits of a constant.
    fn constant(&mut self, class: Class) -> u64 {
        let random = &mut self.random;
        match class {
            Class::F32 => u64::from(single(random)),
            Class::F64 => double(random),
            _ => {
                let bits = 8 * class.bytes() as u32;
                integer(random, bits) & (u64::MAX >> (64 - bits.min(64)))
            }
        }
    }
}

/// An integer of at most `bits` bits: small, at a boundary, or any.
pub fn integer(random: &mut Random, bits: u32) -> u64 {
    const EDGES: [u64; 14] = [
        0x1f,
        0x20,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x5555_5555,
        0x00ff_00ff,
    ];
    let value = match random.below(6) {
        0 | 1 => random.range(-4, 20) as u64,
        2 => *random.pick(&EDGES),
        3 => random.pick(&EDGES).wrapping_neg(),
        4 => 1 << random.below(64),
        _ => random.word(),
    };
    // A narrow value in a wide register now and then.
    value & (u64::MAX >> (64 - bits.min(64)))
}

/// The bits of a single: a common number, one at a boundary, or any.
pub fn single(random: &mut Random) -> u32 {
    const EDGES: [u32; 18] = [
        0,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x3f00_0000,
        0x4b00_0000,
        0x4f00_0000,
        0xcf00_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fff_ffff,
        1,
        0x807f_ffff,
        0x0080_0000,
        0x3f7f_ffff,
        0x477f_e000,
        0x5f00_0000,
    ];
    match random.below(5) {
        0 => *random.pick(&EDGES),
        1 => (random.range(-40, 40) as f32 / 4.0).to_bits(),
        2 | 3 => {
            // Around one, so that sums cancel and round.
            let exponent = random.range(110, 142) as u32;
            random.word() as u32 & 0x807f_ffff | exponent << 23
        }
        _ => random.word() as u32,
    }
}

/// The bits of a double, likewise.
pub fn double(random: &mut Random) -> u64 {
    const EDGES: [u64; 14] = [
        0,
        1 << 63,
        0x3ff0_0000_0000_0000,
        0x3fe0_0000_0000_0000,
        0x41e0_0000_0000_0000,
        0xc1e0_0000_0000_0000,
        0x43e0_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        1,
        0x0010_0000_0000_0000,
        0x47ef_ffff_f000_0000,
    ];
    match random.below(5) {
        0 => *random.pick(&EDGES),
        1 => (random.range(-40, 40) as f64 / 4.0).to_bits(),
        2 | 3 => {
            let exponent = random.range(980, 1070) as u64;
            random.word() & 0x800f_ffff_ffff_ffff | exponent << 52
        }
        _ => random.word(),
    }
}
