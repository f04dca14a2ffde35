//! Makes system calls fail as on an old kernel, in a sandbox, or without resources.

use std::ffi::{c_int, c_long};
use std::io;

/// A system call, and what happens to it.
#[derive(Debug, Clone)]
pub struct Rule {
    pub call: c_long,
    /// The rule applies only to calls whose arguments match all of these.
    pub arguments: Vec<Argument>,
    pub action: Action,
}

#[derive(Debug, Clone, Copy)]
pub enum Action {
    Fail(c_int),
    /// Ends the process with `SIGSYS`.
    Kill,
}

/// A condition on the lower half of an argument.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub index: u32,
    /// The bits to compare.
    pub mask: u32,
    pub value: u32,
    /// Whether the condition is that the bits equal `value`, or that they differ.
    pub is: bool,
}

impl Rule {
    pub fn fail(call: c_long, errno: c_int) -> Rule {
        Rule { call, arguments: Vec::new(), action: Action::Fail(errno) }
    }

    fn program(&self) -> Vec<libc::sock_filter> {
        // Offsets in `seccomp_data`: number of the call, architecture, instruction pointer, six
        // arguments.
        const NUMBER: u32 = 0;
        const ARGUMENTS: u32 = 16;
        const TEST_LEN: u8 = 3;
        let load = |at| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
        let action = match self.action {
            Action::Fail(errno) => libc::SECCOMP_RET_ERRNO | errno as u32,
            Action::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        };
        // How many instructions to skip if a test fails.
        let mut rest = TEST_LEN * self.arguments.len() as u8 + 1;
        let mut program = vec![load(NUMBER), jump_if_equal(self.call as u32, 0, rest)];
        for argument in &self.arguments {
            rest -= TEST_LEN;
            let (same, other) = if argument.is { (0, rest) } else { (rest, 0) };
            program.push(load(ARGUMENTS + 8 * argument.index));
            let and = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
            program.push(statement(and, argument.mask));
            program.push(jump_if_equal(argument.value, same, other));
        }
        program.push(statement(libc::BPF_RET | libc::BPF_K, action));
        program
    }
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Skips `jt` instructions if the value is `k`, else `jf`.
fn jump_if_equal(k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    libc::sock_filter { code, jt, jf, k }
}

/// Applies the rules to all threads of this process and to all processes that it starts. Rules
/// cannot be removed.
pub fn enforce(rules: &[Rule]) -> io::Result<()> {
    let mut program: Vec<_> = rules.iter().flat_map(|rule| rule.program()).collect();
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `program` and the filter that it points to live through the call.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
