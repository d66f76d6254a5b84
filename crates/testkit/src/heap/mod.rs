//! Random programs over a heap, as text, for methods that know one: `pointers` alone, `ids` of threads that go through it, `objects` with a
//! sequential specification. In: a seed. Out: the text of a file that the front end accepts. Deliberately absent: programs that free in a
//! disciplined way and programs over data, which stand beside the tests of `shape`.

pub mod ids;
pub mod objects;
pub mod pointers;
