//! Runs compiled code on packed states. The meaning of each instruction is that of `logic::eval`, restricted to
//! numbers of 64 bits; whatever does not fit leaves by `Exit::Escape`.
//!
//! In: code, a packed state, registers. Out: the state after it and how the code ended (`Exit`). Deliberately absent:
//! undecided values are not decided here.

use super::code::{Exit, Instr, MachineOp, RegisterFile, StoreSide, Tables};
use super::guess::Escape;
use super::layout::{Layout, OPEN_VALUE};

/// Sign- or zero-extends the low `width` bits.
pub(crate) fn wrap_bits(n: i64, width: u8, signed: bool) -> i64 {
    if width >= 64 {
        return n;
    }
    let up = 64 - u32::from(width);
    if signed { (n << up) >> up } else { (((n as u64) << up) >> up) as i64 }
}

fn machine(op: MachineOp, a: i64, b: i64, width: u8) -> i64 {
    let amount = b.rem_euclid(i64::from(width)) as u32;
    match op {
        MachineOp::Add => a.wrapping_add(b),
        MachineOp::Sub => a.wrapping_sub(b),
        MachineOp::Mul => a.wrapping_mul(b),
        MachineOp::DivSigned => {
            if b == 0 {
                0
            } else {
                a.wrapping_div_euclid(b)
            }
        }
        MachineOp::ModSigned => {
            if b == 0 {
                a
            } else {
                a.wrapping_rem_euclid(b)
            }
        }
        MachineOp::DivUnsigned => {
            if b == 0 {
                0
            } else {
                (a as u64 / b as u64) as i64
            }
        }
        MachineOp::ModUnsigned => {
            if b == 0 {
                a
            } else {
                (a as u64 % b as u64) as i64
            }
        }
        MachineOp::BitAnd => a & b,
        MachineOp::BitOr => a | b,
        MachineOp::BitXor => a ^ b,
        MachineOp::Shl => a.wrapping_shl(amount),
        MachineOp::ShrSigned => a >> amount,
        MachineOp::ShrUnsigned => ((a as u64) >> amount) as i64,
    }
}

/// Runs code with the store `pre` before the step; stores go to `post`.
#[inline]
pub(crate) fn run_code<const W: usize>(
    code: &[Instr],
    tables: &Tables,
    layout: &Layout,
    frame: &mut RegisterFile,
    pre: &[u64; W],
    post: &mut [u64; W],
) -> Exit {
    let regs = &mut frame.regs[..];
    macro_rules! r {
        ($i:expr) => {
            regs[$i as usize]
        };
    }
    macro_rules! escape {
        ($e:expr) => {{
            frame.escape = Some($e);
            return Exit::Escape;
        }};
    }
    macro_rules! checked {
        ($d:expr, $n:expr) => {
            match $n {
                Some(n) if n != OPEN_VALUE => r!($d) = n,
                _ => escape!(Escape::TooLarge),
            }
        };
    }
    let mut at = 0;
    while let Some(instr) = code.get(at) {
        at += 1;
        match *instr {
            Instr::Const { d, k } => r!(d) = k,
            Instr::Copy { d, a } => r!(d) = r!(a),
            Instr::Load { side, word, shift, bits, d, lo } => {
                let words = if side == StoreSide::Before { pre } else { &*post };
                r!(d) = lo + ((words[word as usize] >> shift) & ((1u64 << bits) - 1)) as i64;
            }
            Instr::LoadOpen { side, d, slot } => {
                let words = if side == StoreSide::Before { pre } else { &*post };
                let n = layout.slots[slot as usize].get(words);
                if n == OPEN_VALUE {
                    return Exit::Open;
                }
                r!(d) = n;
            }
            Instr::LoadAt { side, d, array, at } => {
                let array = &tables.arrays[array as usize];
                let position = r!(at);
                let n = if position < 0 {
                    array.default
                } else {
                    let words = if side == StoreSide::Before { pre } else { &*post };
                    layout.slots[array.first as usize + position as usize].get(words)
                };
                if n == OPEN_VALUE {
                    return Exit::Open;
                }
                r!(d) = n;
            }
            Instr::PassAt { d, array, at } => {
                let array = &tables.arrays[array as usize];
                let position = r!(at);
                r!(d) = if position < 0 {
                    array.default
                } else {
                    layout.slots[array.first as usize + position as usize].get(pre)
                };
            }
            Instr::Position { d, keys, a } => {
                r!(d) = tables.keys[keys as usize].position(r!(a)).map_or(-1, |i| i as i64);
            }
            Instr::Join { d, a, b, n } => {
                r!(d) = if r!(a) < 0 || r!(b) < 0 { -1 } else { r!(a) * i64::from(n) + r!(b) };
            }
            Instr::Listed { at, key, array, level } => {
                if r!(at) < 0 {
                    let plan = &layout.plans[tables.arrays[array as usize].plan as usize];
                    let key = r!(key);
                    frame.escape = Some(layout.missing_key(plan, level.into(), key));
                    return Exit::Escape;
                }
            }
            Instr::Add { d, a, b } => checked!(d, r!(a).checked_add(r!(b))),
            Instr::AddK { d, a, k } => checked!(d, r!(a).checked_add(k)),
            Instr::Sub { d, a, b } => checked!(d, r!(a).checked_sub(r!(b))),
            Instr::Mul { d, a, b } => checked!(d, r!(a).checked_mul(r!(b))),
            Instr::Div { d, a, b } => {
                let n = r!(b);
                checked!(d, if n == 0 { Some(0) } else { r!(a).checked_div_euclid(n) });
            }
            Instr::Mod { d, a, b } => {
                let n = r!(b);
                checked!(d, if n == 0 { Some(r!(a)) } else { r!(a).checked_rem_euclid(n) });
            }
            Instr::Machine { op, d, a, b, width } => r!(d) = machine(op, r!(a), r!(b), width),
            Instr::Wrap { d, a, width, signed } => r!(d) = wrap_bits(r!(a), width, signed),
            Instr::FromU64 { d, a } => {
                if r!(a) < 0 {
                    escape!(Escape::TooLarge);
                }
                r!(d) = r!(a);
            }
            Instr::Eq { d, a, b } => r!(d) = i64::from(r!(a) == r!(b)),
            Instr::EqK { d, a, k } => r!(d) = i64::from(r!(a) == k),
            Instr::Lt { d, a, b } => r!(d) = i64::from(r!(a) < r!(b)),
            Instr::Le { d, a, b } => r!(d) = i64::from(r!(a) <= r!(b)),
            Instr::LtK { d, a, k } => r!(d) = i64::from(r!(a) < k),
            Instr::GtK { d, a, k } => r!(d) = i64::from(r!(a) > k),
            Instr::LtU { d, a, b } => r!(d) = i64::from((r!(a) as u64) < r!(b) as u64),
            Instr::LeU { d, a, b } => r!(d) = i64::from(r!(a) as u64 <= r!(b) as u64),
            Instr::Not { d, a } => r!(d) = r!(a) ^ 1,
            Instr::And { d, a, b } => r!(d) = r!(a) & r!(b),
            Instr::Jump { to } => at = to as usize,
            Instr::JumpIf { a, to } => {
                if r!(a) != 0 {
                    at = to as usize;
                }
            }
            Instr::JumpIfNot { a, to } => {
                if r!(a) == 0 {
                    at = to as usize;
                }
            }
            Instr::Require { a } => {
                if r!(a) == 0 {
                    return Exit::Waits;
                }
            }
            Instr::RequireCode { word, shift, bits, code } => {
                if (pre[word as usize] >> shift) & ((1u64 << bits) - 1) != code {
                    return Exit::Waits;
                }
            }
            Instr::RequireNotCode { word, shift, bits, code } => {
                if (pre[word as usize] >> shift) & ((1u64 << bits) - 1) == code {
                    return Exit::Waits;
                }
            }
            Instr::Gate { a, property } => {
                if r!(a) == 0 {
                    return Exit::Wrong(property);
                }
            }
            Instr::Store { slot, a } => {
                let s = &layout.slots[slot as usize];
                match s.encode(r!(a)) {
                    Some(code) => s.put(post, code),
                    None => {
                        let value = r!(a);
                        escape!(layout.misfit(slot as usize, value));
                    }
                }
            }
            Instr::Bump { word, shift, bits, slot, by } => {
                let mask = (1u64 << bits) - 1;
                let code = ((pre[word as usize] >> shift) & mask) as i64 + by;
                if code < 0 || code as u64 > mask {
                    let s = &layout.slots[slot as usize];
                    escape!(layout.misfit(slot as usize, s.lo + code));
                }
                let w = &mut post[word as usize];
                *w = (*w & !(mask << shift)) | ((code as u64) << shift);
            }
            Instr::StoreCode { word, shift, bits, code } => {
                let w = &mut post[word as usize];
                *w = (*w & !(((1u64 << bits) - 1) << shift)) | (code << shift);
            }
            Instr::StoreAt { array, at, a } => {
                let slot = tables.arrays[array as usize].first as usize + r!(at) as usize;
                let s = &layout.slots[slot];
                match s.encode(r!(a)) {
                    Some(code) => s.put(post, code),
                    None => {
                        let value = r!(a);
                        escape!(layout.misfit(slot, value));
                    }
                }
            }
            Instr::Fits { a, array } => {
                let plan = &layout.plans[tables.arrays[array as usize].plan as usize];
                let (length, room) = (r!(a), plan.slots() as i64 - 1);
                if length > room {
                    escape!(Escape::Length { var: plan.var.expect("sequences are variables"), length });
                }
            }
            Instr::Spawn { d, spawn, args } => {
                let plan = &tables.spawns[spawn as usize];
                let born = layout.instances.iter().skip(layout.at_once);
                let Some(next) = born.clone().position(|i| layout.slots[i.pc].code(pre) == 0) else {
                    escape!(Escape::Instances);
                };
                for (word, keep, bits) in &plan.fresh[next] {
                    post[*word] = (post[*word] & keep) | bits;
                }
                let (pc, code) = plan.code[next];
                layout.slots[pc].put(post, code);
                for (i, slot) in plan.params[next].iter().enumerate() {
                    let s = &layout.slots[*slot as usize];
                    let value = r!(args as usize + i);
                    match s.encode(value) {
                        Some(code) => s.put(post, code),
                        None => escape!(layout.misfit(*slot as usize, value)),
                    }
                }
                r!(d) = (layout.at_once + next) as i64 + 1;
            }
        }
    }
    Exit::Done
}
