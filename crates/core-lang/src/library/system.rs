//! Rows of the system: ending the program, time, sleeping, the environment, options, signals.
//!
//! In: calls. Out: what a quiet machine answers: no environment variables, time that goes on by itself. Deliberately absent: signals (`signals`), sockets (`network`), other
//! processes, shared memory between processes.

use super::errno::*;
use super::strings::constant_text;
use super::{Answer, CallSite, LibraryRow, Reply, int, nothing};
use crate::interpreter::memory::{AccessPurpose, MemoryRange};
use crate::interpreter::{ExecutionStop, Interpreter, Patience, ViolationKind, Wait};
use crate::value::{CoreValue, IntType, ScalarType};

/// The number of the program's process.
pub(super) const PROCESS_NUMBER: i128 = 4321;

macro_rules! row {
    ($name:literal, $run:expr, $effect:literal) => {
        LibraryRow { name: $name, effect: $effect, run: $run }
    };
}

pub(super) const ROWS: &[LibraryRow] = &[
    row!("exit", exit, "calls the functions of atexit; ends the program with a1"),
    row!("_exit", exit_now, "ends the program with a1"),
    row!("_Exit", exit_now, "ends the program with a1"),
    row!("quick_exit", exit_now, "ends the program with a1"),
    row!("abort", abort, "ends the program"),
    row!("__builtin_abort", abort, "ends the program"),
    row!("__builtin_trap", abort, "ends the program"),
    row!("atexit", atexit, "a1 is called when the program ends; 0"),
    row!("__errno_location", errno_location, "the address of the thread's errno"),
    row!("__builtin_unreachable", unreachable, "undefined"),
    row!("__builtin_prefetch", accept, "nothing"),
    row!("__builtin_ia32_pause", pause_spin, "others may move"),
    row!("sleep", sleep, "others may move; 0"),
    row!("usleep", sleep, "others may move; 0"),
    row!(
        "nanosleep",
        nanosleep,
        "reads the time *a1; writes the rest, zero, to *a2 if it is not null; others may move; 0"
    ),
    row!("clock_nanosleep", clock_nanosleep, "reads the time *a3; others may move; 0"),
    row!("thrd_sleep", nanosleep, "reads the time *a1; others may move; 0"),
    row!("pause", wait_for_ever, "blocks for ever: a signal does not end it here"),
    row!("time", time, "writes the time to *a1 if it is not null; the time"),
    row!("clock", clock, "the processor time"),
    row!("clock_gettime", clock_gettime, "writes the time to *a2; 0"),
    row!("timespec_get", timespec_get, "writes the time to *a1; a2"),
    row!("gettimeofday", gettimeofday, "writes the time to *a1; 0"),
    row!("getpid", getpid, "a number"),
    row!("gettid", gettid, "a number for each thread"),
    row!("getppid", getpid, "a number"),
    row!("getuid", getpid, "a number"),
    row!("sysconf", sysconf, "a number: 4 processors, pages of 4096 bytes"),
    row!("get_nprocs", processors, "4"),
    row!("getpagesize", page_size, "4096"),
    row!("getenv", getenv, "reads the text a1; null: no variable is set"),
    row!("secure_getenv", getenv, "reads the text a1; null: no variable is set"),
    row!("setenv", accept_text, "reads the text a1; 0"),
    row!("setlocale", setlocale, "reads the text a2 if it is not null; the text \"C\""),
    row!("alarm", accept, "0: a signal with a handler may come anyway"),
    row!(
        "getopt",
        getopt,
        "reads the arguments a2 and the text a3; writes optind, optarg, optopt; the next option, or -1"
    ),
    row!("getopt_long", getopt_long, "as getopt; reads the long options a4; writes the index of the one found to *a5"),
    row!("prctl", accept, "0: names and limits of the process"),
    row!("siginterrupt", accept, "0"),
    row!("umask", accept, "0"),
    row!("fsync", accept, "0"),
    row!("fdatasync", accept, "0"),
    row!("getrlimit", accept_fail, "-1: not known"),
    row!("setrlimit", accept, "0"),
    row!("mlockall", accept, "0"),
    row!("sched_setaffinity", accept, "0"),
    row!("pthread_setaffinity_np", accept, "0"),
    row!("madvise", accept, "0"),
];

fn accept(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    nothing()
}

fn accept_fail(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.fails(EINVAL, -1)
}

fn accept_text(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    i.read_text(c.value(0)?)?;
    nothing()
}

fn exit(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    Ok(Reply::Exit(c.int(0)? as i32))
}

fn exit_now(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    Err(ExecutionStop::Exit(c.int(0)? as i32))
}

fn abort(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    Err(ExecutionStop::Abort)
}

fn atexit(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    i.environment.at_exit(c.value(0)?);
    int(0)
}

fn errno_location(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    Ok(Reply::Value(i.errno_object()?))
}

fn unreachable(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    Err(ExecutionStop::violation(ViolationKind::Unreachable, "reaches `__builtin_unreachable`"))
}

fn pause_spin(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    i.scheduler.yield_now();
    nothing()
}

fn sleep(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    c.int(0)?;
    i.scheduler.yield_now();
    nothing()
}

fn nanosleep(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = 2 * i.module.long_bytes;
    i.read_bytes(c.value(0)?, size)?;
    if !c.is_null(1)? {
        i.write_bytes(c.value(1)?, &vec![0; size as usize])?;
    }
    i.scheduler.yield_now();
    nothing()
}

fn clock_nanosleep(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let size = 2 * i.module.long_bytes;
    i.read_bytes(c.value(2)?, size)?;
    i.scheduler.yield_now();
    nothing()
}

fn wait_for_ever(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    Ok(Reply::Block(Wait::Forever, Patience::Unlimited))
}

fn time(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    let seconds = i128::from(i.look_at_the_clock() / 1_000_000_000);
    if !c.is_null(0)? {
        let scalar = i.long();
        i.write_scalar(c.value(0)?, scalar, CoreValue::Int(seconds))?;
    }
    int(seconds)
}

fn clock(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(i128::from(i.instructions))
}

fn write_time(i: &mut Interpreter<'_>, target: CoreValue, unit: u64) -> Result<(), ExecutionStop> {
    let now = i.look_at_the_clock();
    let long = i.long();
    i.write_scalar(target, long, CoreValue::Int(i128::from(now / 1_000_000_000)))?;
    let second = i.offset(target, CoreValue::Int(i128::from(i.module.long_bytes)), 1)?;
    i.write_scalar(second, long, CoreValue::Int(i128::from(now % 1_000_000_000 / unit)))
}

fn clock_gettime(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    write_time(i, c.value(1)?, 1)?;
    int(0)
}

fn timespec_get(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    write_time(i, c.value(0)?, 1)?;
    int(c.int(1)?)
}

fn gettimeofday(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    write_time(i, c.value(0)?, 1000)?;
    int(0)
}

fn getpid(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(PROCESS_NUMBER)
}

fn gettid(i: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(PROCESS_NUMBER + i128::from(i.current))
}

fn sysconf(_: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    match c.int(0)? {
        30 => int(4096),
        83 | 84 => int(4),
        2 => int(100),
        other => c.unsupported(&format!("asks for the value {other} of the system")),
    }
}

fn processors(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(4)
}

fn page_size(_: &mut Interpreter<'_>, _: &CallSite<'_>) -> Answer {
    int(4096)
}

fn getenv(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    i.read_text(c.value(0)?)?;
    i.assume("no environment variable is set");
    Ok(Reply::Value(CoreValue::NULL))
}

fn setlocale(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if !c.is_null(1)? {
        i.read_text(c.value(1)?)?;
    }
    i.assume("the locale is C");
    Ok(Reply::Value(constant_text(i, "the name of the locale", "C")?))
}

/// An object of the environment by its name, if the program declares it.
fn named(i: &mut Interpreter<'_>, name: &str) -> Result<Option<MemoryRange>, ExecutionStop> {
    let found = i.module.objects.iter_enumerated().find(|(_, o)| o.name == name).map(|(id, _)| id);
    let Some(id) = found else { return Ok(None) };
    let allocation = i.object_allocation(id)?;
    let spot = i.memory.locate(i.memory.pointer(allocation), 1, AccessPurpose::Write)?;
    Ok(Some(spot))
}

fn set_named(i: &mut Interpreter<'_>, name: &str, scalar: ScalarType, value: CoreValue) -> Result<(), ExecutionStop> {
    if let Some(spot) = named(i, name)? {
        i.memory.store(spot, scalar, value);
    }
    Ok(())
}

/// POSIX `getopt`: options end at the first argument that is none, or after `--`.
fn getopt(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    const INT: ScalarType = ScalarType::Int(IntType::I32);
    let (count, table, options) = (c.int(0)?, c.value(1)?, i.read_text(c.value(2)?)?);
    let mut index = match named(i, "optind")? {
        Some(spot) => i.memory.load(spot, INT).as_int().unwrap_or(1),
        None => 1,
    };
    let argument = |i: &mut Interpreter<'_>, index: i128| -> Result<(CoreValue, Vec<u8>), ExecutionStop> {
        let slot = i.offset(table, CoreValue::Int(index), i128::from(i.module.pointer_bytes))?;
        let pointer = i.read_scalar(slot, ScalarType::Pointer)?;
        Ok((pointer, i.read_text(pointer)?))
    };
    if index >= count {
        return int(-1);
    }
    let (mut pointer, mut word) = argument(i, index)?;
    if i.environment.option_at == 0 {
        if word.len() < 2 || word[0] != b'-' {
            return int(-1);
        }
        if word == b"--" {
            set_named(i, "optind", INT, CoreValue::Int(index + 1))?;
            return int(-1);
        }
        i.environment.option_at = 1;
    }
    let at = i.environment.option_at;
    let option = word[at];
    let known = options.iter().position(|o| *o == option && option != b':');
    let takes = known.is_some_and(|k| options.get(k + 1) == Some(&b':'));
    let mut result = i128::from(option);
    if takes && at + 1 < word.len() {
        let value = i.offset(pointer, CoreValue::Int(at as i128 + 1), 1)?;
        set_named(i, "optarg", ScalarType::Pointer, value)?;
        (index, i.environment.option_at) = (index + 1, 0);
    } else if takes && index + 1 < count {
        (pointer, word) = argument(i, index + 1)?;
        let _ = word;
        set_named(i, "optarg", ScalarType::Pointer, pointer)?;
        (index, i.environment.option_at) = (index + 2, 0);
    } else {
        if at + 1 < word.len() {
            i.environment.option_at = at + 1;
        } else {
            (index, i.environment.option_at) = (index + 1, 0);
        }
        if takes || known.is_none() {
            set_named(i, "optopt", INT, CoreValue::Int(i128::from(option)))?;
            result = i128::from(if takes && options.first() == Some(&b':') { b':' } else { b'?' });
        }
    }
    set_named(i, "optind", INT, CoreValue::Int(index))?;
    int(result)
}

/// `getopt`, and after `--` a name of the table: `{ name, takes, flag, value }` in 32 bytes.
fn getopt_long(i: &mut Interpreter<'_>, c: &CallSite<'_>) -> Answer {
    if i.module.pointer_bytes != 8 {
        return c.unsupported("in a program for 32 bits");
    }
    const INT: ScalarType = ScalarType::Int(IntType::I32);
    let (count, table) = (c.int(0)?, c.value(1)?);
    let mut index = match named(i, "optind")? {
        Some(spot) => i.memory.load(spot, INT).as_int().unwrap_or(1),
        None => 1,
    };
    let argument = |i: &mut Interpreter<'_>, index: i128| -> Result<(CoreValue, Vec<u8>), ExecutionStop> {
        let slot = i.offset(table, CoreValue::Int(index), 8)?;
        let pointer = i.read_scalar(slot, ScalarType::Pointer)?;
        Ok((pointer, i.read_text(pointer)?))
    };
    if index >= count || i.environment.option_at != 0 {
        return getopt(i, c);
    }
    let (pointer, word) = argument(i, index)?;
    let Some(long) = word.strip_prefix(b"--").filter(|rest| !rest.is_empty()) else { return getopt(i, c) };
    let end = long.iter().position(|b| *b == b'=').unwrap_or(long.len());
    for number in 0.. {
        let row = i.offset(c.value(3)?, CoreValue::Int(number), 32)?;
        let name = i.read_scalar(row, ScalarType::Pointer)?;
        if name.is_zero() == Some(true) {
            break;
        }
        if i.read_text(name)? != long[..end] {
            continue;
        }
        let mut parts = [CoreValue::Undefined; 3];
        for (part, (at, scalar)) in parts.iter_mut().zip([(8, INT), (16, ScalarType::Pointer), (24, INT)]) {
            let place = i.offset(row, CoreValue::Int(at), 1)?;
            *part = i.read_scalar(place, scalar)?;
        }
        let [takes, flag, value] = parts;
        index += 1;
        if takes.as_int() != Some(0) && end < long.len() {
            let text = i.offset(pointer, CoreValue::Int(end as i128 + 3), 1)?;
            set_named(i, "optarg", ScalarType::Pointer, text)?;
        } else if takes.as_int() == Some(1) && index < count {
            let (text, _) = argument(i, index)?;
            set_named(i, "optarg", ScalarType::Pointer, text)?;
            index += 1;
        }
        set_named(i, "optind", INT, CoreValue::Int(index))?;
        if !c.is_null(4)? {
            i.write_scalar(c.value(4)?, INT, CoreValue::Int(number))?;
        }
        if flag.is_zero() == Some(true) {
            return Ok(Reply::Value(value));
        }
        i.write_scalar(flag, INT, value)?;
        return int(0);
    }
    set_named(i, "optind", INT, CoreValue::Int(index + 1))?;
    int(b'?')
}
