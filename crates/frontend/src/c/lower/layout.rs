//! Layout: from a type to the leaves of an object.
//!
//! In: a type, and what to call its parts. Out: leaves with their offsets, each with a slot; one map slot for each
//! leaf of the element of a long array; single bytes where members of a union overlap; for each bit-field a leaf at an
//! offset of its own. Absent: the bytes of bit-fields and floats, which are torn leaves.

use super::Lower;
use super::flow::*;
use super::memory::*;
use crate::c::types::*;
use base::Span;
use logic::Sort;
use rustc_hash::FxHashMap;

/// What the leaves of an object, or of a part of it, have in common.
#[derive(Clone, Copy)]
pub(super) struct ObjectPart<'a> {
    pub key: &'a str,
    pub shown: &'a str,
    pub owner: SlotOwner,
    pub span: Span,
    pub start: ObjectStart,
}

impl<'a> ObjectPart<'a> {
    fn named(self, key: &'a str, shown: &'a str) -> Self {
        Self { key, shown, ..self }
    }
}

impl Lower<'_> {
    /// Leaves that overlap become single bytes, of which every number that stands there is made.
    pub(super) fn bytewise(&mut self, mut leaves: Vec<Leaf>, part: ObjectPart<'_>) -> Vec<Leaf> {
        let whole: Vec<bool> = leaves.iter().map(|l| !l.torn).collect();
        tear(&mut leaves);
        let mut out: Vec<Leaf> = Vec::new();
        let mut overlapping: Vec<(Leaf, bool)> = Vec::new();
        for (leaf, whole) in leaves.into_iter().zip(whole) {
            match leaf.torn {
                true => overlapping.push((leaf, whole)),
                false => out.push(leaf),
            }
        }
        overlapping.sort_by_key(|(l, _)| (l.offset, l.size));
        let mut groups: Vec<Vec<(Leaf, bool)>> = Vec::new();
        let mut reach = i128::MIN;
        for (leaf, whole) in overlapping {
            let end = leaf.offset + leaf.size;
            match groups.last_mut() {
                Some(group) if leaf.offset < reach => group.push((leaf, whole)),
                _ => groups.push(vec![(leaf, whole)]),
            }
            reach = reach.max(end);
        }
        for group in groups {
            let number = |(l, whole): &(Leaf, bool)| {
                let plain = match self.unit.types.kind(l.ty) {
                    CTypeKind::Int(int) => *int != Int::Bool && l.size <= 8,
                    CTypeKind::Pointer(_) => true,
                    _ => false,
                };
                plain && *whole && l.repeat.is_none() && l.offset < i128::from(BIT_FIELD)
            };
            if !group.iter().all(number) {
                out.extend(group.into_iter().map(|(l, _)| l));
                continue;
            }
            let low = group.iter().map(|(l, _)| l.offset).min().unwrap_or(0);
            let high = group.iter().map(|(l, _)| l.offset + l.size).max().unwrap_or(0);
            let ty = self.unit.char_type;
            let slots: Vec<SlotId> = (low..high)
                .map(|at| {
                    let (key, shown) = (format!("{}+{at}", part.key), format!("{}+{at}", part.shown));
                    let slot = self.leaf_slot(ty, part.named(&key, &shown), None);
                    self.slots[slot].range = Some((0, 255));
                    slot
                })
                .collect();
            for bytes in [1u8, 2, 4, 8] {
                let size = i128::from(bytes);
                let places = (low..=high - size).zip(&slots);
                out.extend(places.map(|(offset, slot)| Leaf {
                    offset,
                    size,
                    ty,
                    slot: *slot,
                    repeat: None,
                    torn: false,
                    bytes,
                }));
            }
        }
        out
    }

    pub(super) fn array_leaves(
        &mut self,
        of: CType,
        n: u64,
        offset: i128,
        part: ObjectPart<'_>,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        let size = self.unit.types.size(of).unwrap_or(1) as i128;
        if n > LONGEST_SPLIT {
            return self.row_leaves(of, offset, (size, Some(n as i128)), part, out);
        }
        for i in 0..n as i128 {
            let (key, shown) = (format!("{}[{i}]", part.key), format!("{}[{i}]", part.shown));
            self.leaves_of(of, offset + i * size, part.named(&key, &shown), out)?;
        }
        Ok(())
    }

    pub(super) fn leaves_of(
        &mut self,
        ty: CType,
        offset: i128,
        part: ObjectPart<'_>,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        if out.len() > MOST_LEAVES {
            return Err(format!("`{}` has too many parts", part.shown));
        }
        match self.unit.types.kind(ty).clone() {
            CTypeKind::Array(of, Some(n)) => self.array_leaves(of, n, offset, part, out),
            CTypeKind::Record(r) => {
                let Some(fields) = self.unit.types.records[r].fields.clone() else {
                    return Err(format!("`{}` has an incomplete type", part.shown));
                };
                for field in fields {
                    if let Some(bits) = field.bits {
                        self.bit_leaf(&field, bits, offset, part, out)?;
                        continue;
                    }
                    let dot =
                        |s: &str| if field.name.is_empty() { s.to_string() } else { format!("{s}.{}", field.name) };
                    // A union's members of one size share their slot.
                    let twin = out.iter().find(|l| {
                        l.offset == offset + field.offset as i128
                            && l.repeat.is_none()
                            && self.unit.types.size(field.ty).map(|s| s as i128) == Some(l.size)
                            && self.unit.types.is_scalar(field.ty)
                            && self.unit.types.is_scalar(l.ty)
                            && self.unit.types.as_int(l.ty) != Some(Int::Bool)
                    });
                    if twin.is_some() {
                        continue;
                    }
                    let at = offset + field.offset as i128;
                    self.leaves_of(field.ty, at, part.named(&dot(part.key), &dot(part.shown)), out)?;
                }
                Ok(())
            }
            CTypeKind::Int(_)
            | CTypeKind::Pointer(_)
            | CTypeKind::Opaque(_)
            | CTypeKind::Float(_)
            | CTypeKind::VarArgs => {
                let size = self.unit.types.size(ty).unwrap_or(1) as i128;
                let slot = self.leaf_slot(ty, part, None);
                out.push(Leaf { offset, size, ty, slot, repeat: None, torn: false, bytes: 0 });
                Ok(())
            }
            _ => Err(format!("`{}` has type `{}`, which is not modelled", part.shown, self.unit.types.show(ty))),
        }
    }

    /// A bit-field is a leaf of its own, at an offset of its own. Its unit, which it shares with its neighbours, is a torn leaf:
    /// whoever looks at the bytes themselves is not modelled.
    fn bit_leaf(
        &mut self,
        field: &CField,
        bits: u32,
        offset: i128,
        part: ObjectPart<'_>,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        let Some(int) = self.unit.types.as_int(field.ty).filter(|_| field.name != "<padding>") else { return Ok(()) };
        let (key, shown) = (format!("{}.{}", part.key, field.name), format!("{}.{}", part.shown, field.name));
        let slot = self.leaf_slot(field.ty, part.named(&key, &shown), None);
        if int != Int::Bool {
            let half = 1i128 << bits.saturating_sub(1);
            self.slots[slot].range = Some(if int.signed() { (-half, half - 1) } else { (0, 2 * half - 1) });
        }
        let size = self.unit.types.size(field.ty).unwrap_or(1) as i128;
        let unit = offset + (field.offset % BIT_FIELD) as i128;
        let leaf = Leaf {
            offset: offset + field.offset as i128,
            size,
            ty: field.ty,
            slot,
            repeat: None,
            torn: false,
            bytes: 0,
        };
        match out.iter().find(|l| l.torn && l.offset == unit).map(|l| l.slot) {
            Some(first) => {
                self.units.insert(slot, first);
            }
            None => out.push(Leaf { offset: unit, size: field.run as i128, torn: true, ..leaf.clone() }),
        }
        out.push(leaf);
        Ok(())
    }

    pub(super) fn row_leaves(
        &mut self,
        of: CType,
        offset: i128,
        row: (i128, Option<i128>),
        part: ObjectPart<'_>,
        out: &mut Vec<Leaf>,
    ) -> Result<(), String> {
        if let (CTypeKind::Array(inner, Some(m)), (_, Some(n))) = (self.unit.types.kind(of).clone(), row)
            && m > LONGEST_SPLIT
        {
            // A table is one row: its elements follow each other.
            let size = self.unit.types.size(inner).unwrap_or(1) as i128;
            return self.row_leaves(inner, offset, (size, Some(n * m as i128)), part, out);
        }
        let mut element = Vec::new();
        // The element's own leaves give the offsets; each becomes a map over the row.
        let (key, shown) = (format!("{}[*]", part.key), format!("{}[*]", part.shown));
        self.leaves_of(of, 0, part.named(&key, &shown), &mut element)?;
        tear(&mut element);
        let mut rows: FxHashMap<SlotId, SlotId> = FxHashMap::default();
        for leaf in element {
            if leaf.repeat.is_some() {
                return Err(format!("`{}` is a long array of long arrays", part.shown));
            }
            let row_key = format!("{}~row", self.slots[leaf.slot].key);
            let name = self.slots[leaf.slot].shown.replace("[*]", "");
            let slot = self.leaf_slot(leaf.ty, part.named(&row_key, &name), Some(row.0));
            rows.insert(leaf.slot, slot);
            if let Some(first) = self.units.get(&leaf.slot).and_then(|first| rows.get(first)).copied() {
                self.units.insert(slot, first);
            }
            out.push(Leaf { offset: offset + leaf.offset, slot, repeat: Some(row), ..leaf });
        }
        Ok(())
    }

    fn leaf_slot(&mut self, ty: CType, part: ObjectPart<'_>, row: Option<i128>) -> SlotId {
        let int = self.unit.types.as_int(ty);
        let base = if int == Some(Int::Bool) { Sort::BOOL } else { Sort::INT };
        let opaque = matches!(self.unit.types.kind(ty), CTypeKind::Opaque(_));
        let float = matches!(self.unit.types.kind(ty), CTypeKind::Float(_));
        let range = match self.unit.types.kind(ty) {
            CTypeKind::Int(i) => Some(i.range(self.unit.types.model)),
            _ => None,
        };
        let zero = self.terms.default_of(base);
        let initial = match part.start {
            ObjectStart::Any if float => Some(self.unfollowed()),
            ObjectStart::Any if !opaque => None,
            _ => Some(zero),
        };
        let (sort, initial) = match row {
            None => (base, initial),
            Some(_) => {
                let sort = self.terms.map_sort(Sort::INT, base);
                (sort, initial.map(|i| self.terms.const_map(sort, i)))
            }
        };
        let lock =
            matches!(self.unit.types.kind(ty), CTypeKind::Opaque(Opaque::Mutex | Opaque::SpinLock)) && row.is_none();
        let role = match (opaque, ty.quals.atomic) {
            (true, _) => SlotRole::Library,
            (false, true) => SlotRole::Atomic,
            _ => SlotRole::Data,
        };
        let ObjectPart { key, shown, owner, span, .. } = part;
        let (key, shown) = (key.to_string(), shown.to_string());
        self.slot(NewSlot { key, shown, sort, owner, initial, range, lock, role, span })
    }
}

/// Marks leaves that overlap without being the same.
fn tear(leaves: &mut [Leaf]) {
    tear_rows(leaves);
    let mut order: Vec<usize> = (0..leaves.len()).filter(|i| leaves[*i].repeat.is_none()).collect();
    order.sort_by_key(|i| (leaves[*i].offset, leaves[*i].size));
    // The leaf that reaches farthest so far.
    let mut reach: Option<usize> = None;
    for i in order {
        if let Some(j) = reach
            && leaves[i].offset < leaves[j].offset + leaves[j].size
        {
            leaves[i].torn = true;
            leaves[j].torn = true;
        }
        if reach.is_none_or(|j| leaves[j].offset + leaves[j].size < leaves[i].offset + leaves[i].size) {
            reach = Some(i);
        }
    }
}

/// Marks rows that overlap other leaves.
fn tear_rows(leaves: &mut [Leaf]) {
    let mut torn = Vec::new();
    for (i, r) in leaves.iter().enumerate() {
        let Some((stride, Some(count))) = r.repeat else { continue };
        let end = r.offset + stride * (count - 1) + r.size;
        for (j, l) in leaves.iter().enumerate().filter(|(j, _)| *j != i) {
            let (until, same) = match l.repeat {
                Some((s, Some(n))) => (l.offset + s * (n - 1) + l.size, s == stride),
                _ => (l.offset + l.size, true),
            };
            let apart = (l.offset - r.offset).rem_euclid(stride.max(1));
            let between = same && apart >= r.size && apart + l.size <= stride;
            if l.offset < end && r.offset < until && !between {
                torn.extend([i, j]);
            }
        }
    }
    torn.into_iter().for_each(|i| leaves[i].torn = true);
}
