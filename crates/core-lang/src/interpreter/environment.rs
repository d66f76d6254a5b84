//! What is outside of the program: streams, files, arguments, time, keys, functions to call at exit.
//!
//! In: the options of a run. Out: state that rows read and change. Standard input and some files are what the options say; opening another one
//! for reading that was not written in the run fails, as it does on a machine where the file is not there. Time goes on by
//! itself from an unknown start. Deliberately absent: any contact with the machine the tool runs on.

use super::RunOptions;
use super::race::VectorClock;
use crate::value::CoreValue;
use base::Random;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A file or device.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimulatedFile {
    pub content: Vec<u8>,
}

/// What lies behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorKind {
    File,
    /// A socket that is not connected.
    Socket,
    /// A socket with a peer: what it sends is given, what it is sent is dropped.
    Connection,
    /// An end of a pipe.
    Pipe,
}

/// An open file.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    pub kind: DescriptorKind,
    pub path: Option<String>,
    pub position: usize,
    pub(crate) readable: bool,
    pub writable: bool,
    pub append: bool,
    pub(crate) at_end: bool,
    pub(crate) pushed_back: Vec<u8>,
    pub open: bool,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenMode {
    pub(crate) readable: bool,
    pub writable: bool,
    pub create: bool,
    pub truncate: bool,
    pub append: bool,
}

#[derive(Debug)]
pub(crate) struct Environment {
    pub files: BTreeMap<String, SimulatedFile>,
    /// By descriptor; the first three are the standard streams.
    pub(crate) descriptors: Vec<OpenFile>,
    /// Stream objects by allocation.
    streams: FxHashMap<u32, usize>,
    pub input: Vec<u8>,
    output: Vec<u8>,
    errors: Vec<u8>,
    keys: Vec<Option<CoreValue>>,
    exit_handlers: Vec<CoreValue>,
    /// Peers that have come so far.
    pub(crate) connections: usize,
    /// What was done before something was written into a pipe.
    pub(crate) pipe_clocks: BTreeMap<String, VectorClock>,
    pub time: u64,
    /// What `strtok` remembers.
    pub(crate) token_rest: CoreValue,
    /// Where `getopt` stands inside an argument.
    pub(crate) option_at: usize,
    pub texts: FxHashMap<&'static str, CoreValue>,
    pub(crate) random_state: Random,
}

impl Environment {
    pub(crate) fn new(options: &RunOptions) -> Self {
        let mut random = Random::new(options.seed ^ 0x0065_6e76);
        let standard = |readable: bool| OpenFile {
            kind: DescriptorKind::File,
            path: None,
            position: 0,
            readable,
            writable: !readable,
            append: false,
            at_end: false,
            pushed_back: Vec::new(),
            open: true,
        };
        Self {
            files: options.files.iter().map(|(n, t)| (n.clone(), SimulatedFile { content: t.clone() })).collect(),
            descriptors: vec![standard(true), standard(false), standard(false)],
            streams: FxHashMap::default(),
            input: options.input.clone(),
            output: Vec::new(),
            errors: Vec::new(),
            keys: Vec::new(),
            exit_handlers: Vec::new(),
            connections: 0,
            pipe_clocks: BTreeMap::new(),
            time: 1_700_000_000_000_000_000 + (random.word() >> 8),
            token_rest: CoreValue::NULL,
            option_at: 0,
            texts: FxHashMap::default(),
            random_state: random,
        }
    }

    pub(crate) fn add_stream(&mut self, allocation: u32, descriptor: usize) {
        self.streams.insert(allocation, descriptor);
    }
    pub(crate) fn stream(&self, allocation: u32) -> Option<usize> {
        self.streams.get(&allocation).copied()
    }
    pub(crate) fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        (std::mem::take(&mut self.output), std::mem::take(&mut self.errors))
    }

    /// Nanoseconds since 1970; later at each look.
    pub(crate) fn now(&mut self) -> u64 {
        self.time += 1 + self.random_state.below(100_000) as u64;
        self.time
    }

    pub(crate) fn write(&mut self, descriptor: usize, bytes: &[u8]) -> bool {
        let Some(open) = self.descriptors.get_mut(descriptor).filter(|o| o.open && o.writable) else { return false };
        if open.kind == DescriptorKind::Connection {
            return true;
        }
        match (&open.path, descriptor) {
            (None, 2) => self.errors.extend_from_slice(bytes),
            (None, _) => {
                if self.output.len() < MAX_OUTPUT {
                    self.output.extend_from_slice(bytes);
                }
            }
            (Some(path), _) => {
                let file = self.files.entry(path.clone()).or_default();
                if open.append {
                    open.position = file.content.len();
                }
                let end = open.position + bytes.len();
                if file.content.len() < end {
                    file.content.resize(end, 0);
                }
                file.content[open.position..end].copy_from_slice(bytes);
                open.position = end;
            }
        }
        true
    }

    /// Up to so many bytes; `None` if it cannot be read.
    pub(crate) fn read(&mut self, descriptor: usize, most: usize) -> Option<Vec<u8>> {
        let open = self.descriptors.get_mut(descriptor).filter(|o| o.open && o.readable)?;
        let mut bytes = Vec::new();
        while bytes.len() < most
            && let Some(byte) = open.pushed_back.pop()
        {
            bytes.push(byte);
        }
        let content = match &open.path {
            None => &self.input,
            Some(path) => &self.files.get(path)?.content,
        };
        let from = open.position.min(content.len());
        let to = (from + (most - bytes.len())).min(content.len());
        bytes.extend_from_slice(&content[from..to]);
        open.position = to;
        if bytes.len() < most {
            open.at_end = true;
        }
        Some(bytes)
    }

    /// Opens a path; `None` if it is not there and is not to be made.
    pub(crate) fn open(&mut self, path: &str, how: OpenMode) -> Option<usize> {
        if path == "/dev/null" {
            self.files.entry(path.into()).or_default();
        }
        if !self.files.contains_key(path) {
            if !how.create {
                return None;
            }
            self.files.insert(path.into(), SimulatedFile::default());
        }
        if how.truncate
            && let Some(file) = self.files.get_mut(path)
        {
            file.content.clear();
        }
        Some(self.add_descriptor(DescriptorKind::File, path, how))
    }

    /// A new descriptor of what has this name.
    pub(crate) fn add_descriptor(&mut self, kind: DescriptorKind, path: &str, how: OpenMode) -> usize {
        self.descriptors.push(OpenFile {
            kind,
            path: Some(path.into()),
            position: 0,
            readable: how.readable,
            writable: how.writable,
            append: how.append,
            at_end: false,
            pushed_back: Vec::new(),
            open: true,
        });
        self.descriptors.len() - 1
    }

    /// Whether a descriptor is the reading end of a pipe that is empty and may be written yet.
    pub(crate) fn must_wait(&self, descriptor: usize) -> bool {
        let Some(end) = self.descriptors.get(descriptor) else { return false };
        if end.kind != DescriptorKind::Pipe || !end.open || !end.readable {
            return false;
        }
        let length = end.path.as_ref().and_then(|p| self.files.get(p)).map_or(0, |f| f.content.len());
        end.position >= length && self.descriptors.iter().any(|d| d.open && d.writable && d.path == end.path)
    }

    pub(crate) fn new_key(&mut self, destructor: CoreValue) -> u32 {
        self.keys.push(Some(destructor));
        self.keys.len() as u32 - 1
    }
    pub(crate) fn has_key(&self, key: u32) -> bool {
        self.keys.get(key as usize).is_some_and(Option::is_some)
    }
    pub(crate) fn delete_key(&mut self, key: u32) -> bool {
        self.keys.get_mut(key as usize).and_then(Option::take).is_some()
    }
    /// The function that is called for a thread's value of a key when the thread ends.
    pub(crate) fn destructor(&self, key: u32) -> Option<CoreValue> {
        self.keys.get(key as usize).copied().flatten().filter(|d| d.is_zero() == Some(false))
    }
    pub(crate) fn at_exit(&mut self, function: CoreValue) {
        self.exit_handlers.push(function);
    }
    pub(crate) fn next_exit_handler(&mut self) -> Option<CoreValue> {
        self.exit_handlers.pop()
    }
}

/// More output than this is not kept.
const MAX_OUTPUT: usize = 1 << 24;
