//! Names of threads, objects and values for people.
//!
//! In: numbers of the run. Out: text as a user would say it, `queue.head` being beyond it: an object's name and a byte offset.

use super::memory::AllocationOrigin;
use super::{Interpreter, Life};
use crate::value::CoreValue;

impl Interpreter<'_> {
    pub(crate) fn thread_name(&self, thread: u32) -> String {
        let Some(t) = self.threads.get(thread as usize) else { return "start-up".into() };
        let same = self.threads.iter().filter(|o| o.name == t.name).count();
        if same <= 1 {
            return t.name.clone();
        }
        let number = self.threads[..=thread as usize].iter().filter(|o| o.name == t.name).count();
        format!("{}#{number}", t.name)
    }

    /// The object of an access and where in it.
    pub(crate) fn object_name(&self, allocation: u32, offset: u64) -> String {
        let origin = self.memory.allocations[allocation as usize].origin;
        let size = self.memory.allocations[allocation as usize].size;
        let name = match origin {
            AllocationOrigin::Object(id) | AllocationOrigin::ThreadLocal(id, _) => self.module.objects[id].name.clone(),
            AllocationOrigin::Local(function, local, _) => self.module.functions[function].locals[local].name.clone(),
            AllocationOrigin::Heap => format!("heap object {allocation}"),
            AllocationOrigin::Function(id) => self.module.functions[id].name.clone(),
            AllocationOrigin::External(id) => self.module.externals[id].name.clone(),
            AllocationOrigin::Environment(name) => name.to_string(),
        };
        if offset == 0 && size <= 8 { name } else { format!("{name}+{offset}") }
    }

    pub(crate) fn value_text(&self, value: CoreValue) -> String {
        match value {
            CoreValue::Undefined => "(never set)".into(),
            CoreValue::Int(int) => int.to_string(),
            CoreValue::Float(float) => float.to_string(),
            CoreValue::Pointer(0, _) => "null".into(),
            CoreValue::Pointer(address, _) => match self.memory.target(value) {
                Some((id, offset)) if offset <= self.memory.allocations[id as usize].size => {
                    format!("&{}", self.object_name(id, offset))
                }
                _ => format!("{address:#x}"),
            },
        }
    }

    /// What every thread that has not ended waits for.
    pub(crate) fn waiting_text(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            if thread.life == Life::Ended {
                continue;
            }
            let name = self.thread_name(number as u32);
            let what = match thread.wait {
                Some((wait, _)) => self.wait_text(wait),
                None => "can go on".into(),
            };
            found.push(format!("{name} {what}"));
        }
        found
    }

    fn wait_text(&self, wait: super::Wait) -> String {
        use super::Wait;
        let name = |(allocation, offset): (u32, u64)| self.object_name(allocation, offset);
        match wait {
            Wait::Mutex(at) => match self.sync.owner(at) {
                Some(owner) => format!("waits for mutex {}, held by {}", name(at), self.thread_name(owner)),
                None => format!("waits for mutex {}", name(at)),
            },
            Wait::ReadLock(at) => format!("waits to read-lock {}", name(at)),
            Wait::WriteLock(at) => format!("waits to write-lock {}", name(at)),
            Wait::Spin(at) => format!("spins on {}", name(at)),
            Wait::Semaphore(at) => format!("waits for semaphore {}", name(at)),
            Wait::Barrier(at, _) => format!("waits in barrier {}", name(at)),
            Wait::Once(at) => format!("waits for the once-function of {}", name(at)),
            Wait::Signal(at) => format!("waits for a signal of {}", name(at)),
            Wait::Thread(thread) => format!("waits for the end of {}", self.thread_name(thread)),
            Wait::Forever => "waits for ever".into(),
        }
    }
}
