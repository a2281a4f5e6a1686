"""Programs that want out. Whatever they try, `watch.run` checks that nothing was read, written, started or reached."""

import errno
from typing import Any

import numpy as np
import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.sandbox.executor import CodeExecutor

# Ways to modules that a program may not import.
MODULES = "modules = np.lib._npyio_impl.os.sys.modules\nos = modules['os']\n"
LIBC = MODULES + "ct = modules['ctypes']\nlibc = ct.CDLL(None, use_errno=True)\n"

FILES = {
    "open": "open(SECRET).read()",
    "open a descriptor": "open(0).read()",
    "fromfile": "np.fromfile(SECRET, 'u1').tobytes().decode()",
    "load": "np.load(SECRET, allow_pickle=True)",
    "memmap": "bytes(np.memmap(SECRET, 'u1', 'r')).decode()",
    "genfromtxt": "np.genfromtxt(SECRET, dtype=str)",
    "loadtxt": "np.loadtxt(SECRET, dtype=str, delimiter='|')",
    "write": "open(TARGET, 'w').write('x')",
    "append": "open(SECRET, 'a').write('x')",
    "save": "np.save(TARGET, np.ones(3))",
    "savetxt": "np.savetxt(TARGET, np.ones(3))",
    "tofile": "np.ones(3).tofile(TARGET)",
    "memmap for writing": "np.memmap(TARGET, 'u1', 'w+', shape=(3,))",
    "listdir": MODULES + "os.listdir('/')",
    "stat": MODULES + "os.stat(SECRET).st_size",
    "unlink": MODULES + "os.unlink(SECRET)",
    "rename": MODULES + "os.rename(SECRET, TARGET)",
    "mkdir": MODULES + "os.mkdir(TARGET)",
    "chmod": MODULES + "os.chmod(SECRET, 0o777)",
    "symlink": MODULES + "os.symlink(SECRET, TARGET)",
    "chdir": MODULES + "os.chdir('/')",
    "environment of the parent": "open(f'/proc/{PARENT}/environ').read()",
    "own environment": "open('/proc/self/environ').read()",
    "memory of the parent": "open(f'/proc/{PARENT}/mem', 'rb').read(1)",
    "maps": "open('/proc/self/maps').read()",
    "a builtin's own module": "print.__self__.__import__('os').listdir('/')",
    "the object graph": "def below(c):\n    return [c, *(x for s in type.__subclasses__(c) for x in below(s))]\n"
    "[c for c in below(().__class__.__mro__[1]) if c.__name__ == 'FileIO'][0](SECRET).read()",
    "a loader": MODULES + "modules['importlib.machinery'].SourceFileLoader('x', SECRET).get_data(SECRET)",
    "pickled call": MODULES + "modules['pickle'].loads(f'cnumpy\\nfromfile\\n(S\"{SECRET}\"\\ntR.'.encode())",
}

PROCESSES = {
    "fork": MODULES + "os.fork()",
    "execv": MODULES + "os.execv('/bin/sh', ['sh', '-c', f'touch {TARGET}'])",
    "subprocess": MODULES + "modules['subprocess'].run(['touch', TARGET])",
    "posix_spawn": MODULES + "os.posix_spawn('/bin/touch', ['touch', TARGET], {})",
    "thread": MODULES + "modules['threading'].Thread(target=print).start()",
    "kill the parent": MODULES + "os.kill(PARENT, 0)",
    "kill the server": MODULES + "os.kill(SERVER, 9)",
    "setuid": MODULES + "os.setuid(0)",
    "setsid": MODULES + "os.setsid()",
    "nice": MODULES + "os.nice(-5)",
    "raise a limit": MODULES + "modules['resource'].setrlimit(modules['resource'].RLIMIT_CPU, (99, 99))",
    "signal handler": MODULES + "modules['signal'].signal(24, lambda *a: None)",
    "mask signals": MODULES + "modules['signal'].pthread_sigmask(0, {24})",
    "alarm": MODULES + "modules['signal'].setitimer(0, 1)",
    "sleep": MODULES + "modules['time'].sleep(60)",
    "close the connection": MODULES + "os.close(3)",
    "read the connection": MODULES + "os.read(3, 10)",
    "duplicate the connection": MODULES + "os.dup(3)",
    "pipe": MODULES + "os.pipe()",
    "write to standard output": MODULES + "os.write(1, b'x')",
    "connect": MODULES + "modules['socket'].create_connection(('127.0.0.1', PORT))",
    "socket pair": MODULES + "modules['socket'].socketpair()",
    "name server": MODULES + "modules['socket'].getaddrinfo('localhost', 80)",
}


@pytest.mark.parametrize("name", [*FILES, *PROCESSES])
def test_a_program_that_wants_out_ends_with_an_error(watch: Any, name: str) -> None:
    error = watch.run({**FILES, **PROCESSES}[name]).error
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert str(error).startswith("line ")
    assert "NameError" not in str(error)
    assert "KeyError" not in str(error)
    if name in FILES:
        assert "PermissionError: [Errno 1]" in str(error)


def test_a_shell_is_not_started(watch: Any) -> None:
    assert watch.run(MODULES + "os.system(f'touch {TARGET}')").value != 0


def test_descriptors_cannot_be_closed(watch: Any) -> None:
    assert watch.run(MODULES + "os.closerange(0, 100)\nresult = 'still here'").value == "still here"


def test_the_environment_is_empty(watch: Any) -> None:
    found = watch.run(MODULES + "sorted(os.environ)").value
    assert set(found) <= {"LC_CTYPE", "PWD", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED"}


def test_the_worker_knows_neither_the_callers_modules_nor_its_command_line(watch: Any) -> None:
    found = watch.run(MODULES + "(sorted(modules), os.sys.argv)").value
    assert "toolhand.tool_nodes.sandbox.executor" not in found[0]
    assert not {"pytest", "mujoco", "mypy"} & set(found[0])
    assert found[1][0] == "-c"


# -- system calls, without Python between -------------------------------------------------------------

CALLS = {
    "open": "2, SECRET.encode(), 0",
    "openat": "257, -100, SECRET.encode(), 0",
    "openat2": "437, -100, SECRET.encode(), bytes(24), 24",
    "creat": "85, TARGET.encode(), 0o644",
    "execve": "59, b'/bin/true', None, None",
    "execveat": "322, 3, b'', None, None, 0x1000",
    "memfd_create": "319, b'x', 0",
    "socket": "41, 2, 1, 0",
    "ptrace": "101, 16, PARENT, 0, 0",
    "kill": "62, PARENT, 0",
    "tgkill": "234, PARENT, PARENT, 0",
    "pidfd_open": "434, PARENT, 0",
    "process_vm_readv": "310, PARENT, None, 0, None, 0, 0",
    "process_vm_writev": "311, PARENT, None, 0, None, 0, 0",
    "io_uring_setup": "425, 1, bytes(120)",
    "clone": "56, 17, 0, 0, 0, 0",
    "clone3": "435, bytes(88), 88",
    "fork": "57,",
    "vfork": "58,",
    "unshare": "272, 0x10000000",
    "setns": "308, 3, 0",
    "mount": "165, b'x', b'/', b'tmpfs', 0, None",
    "chroot": "161, b'/'",
    "bpf": "321, 0, bytes(48), 48",
    "userfaultfd": "323, 0",
    "perf_event_open": "298, bytes(112), 0, -1, -1, 0",
    "keyctl": "250, 0, -1, 0",
    "add_key": "248, b'user', b'x', b'y', 1, -2",
    "shmget": "29, 0, 4096, 0o1600",
    "prctl": "157, 4, 1, 0, 0, 0",
    "seccomp": "317, 1, 0, None",
    "prlimit64": "302, 0, 0, None, bytes(16)",
    "sendmsg on the connection": "46, 3, bytes(56), 0",
    "write to another descriptor": "1, 0, b'x', 1",
    "madvise that damages memory": "28, 0, 4096, 100",
    "executable memory": "9, 0, 4096, 7, 0x22, -1, 0",
    "memory of a file": "9, 0, 4096, 1, 2, 3, 0",
    "memory made executable": "10, 0, 4096, 5",
    "init_module": "175, bytes(8), 8, b''",
    "name_to_handle_at": "303, -100, SECRET.encode(), bytes(8), bytes(4), 0",
    "landlock_create_ruleset": "444, None, 0, 1",
    "getrandom": "318, bytes(8), 8, 0",
    "a call of another convention": "0x40000000 + 1000,",
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("x86_64")
def test_a_system_call_is_refused(watch: Any, name: str) -> None:
    outcome = watch.run(f"{LIBC}(libc.syscall({CALLS[name]}), ct.get_errno())")
    if name == "a call of another convention":
        assert "Bad system call" in str(outcome.error)
    else:
        assert outcome.value == (-1, errno.EPERM)


def test_native_callbacks_are_not_made(watch: Any) -> None:
    assert watch.run(LIBC + "ct.CFUNCTYPE(None)(print)()").error is not None


# -- too much -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "while True:\n    try:\n        raise SystemExit\n    except BaseException:\n        pass",
        "9**9**9",
        "sum(1 for _ in iter(int, 1))",
        "while True:\n    print('x' * 1000)",
        MODULES + "lock = modules['threading'].Lock()\nlock.acquire()\nlock.acquire()",
        "class Slow:\n    def __repr__(self):\n        while True:\n            pass\nresult = Slow()",
        "class Slow(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise Slow",
        "np.convolve(np.ones(4_000_000), np.ones(4_000_000))",
        "[0 for _ in iter(int, 1)]",
        "result = []\nfor _ in range(40):\n    result = [result, result]",
    ],
)
def test_a_program_without_an_end_is_ended(watch: Any, code: str) -> None:
    error = watch.run(code, timeout_s=0.2).error
    assert error.code in (ErrorCode.TIMEOUT, ErrorCode.EXECUTION_FAILED)
    if error.code is ErrorCode.TIMEOUT:
        assert "longer than 0.2 s" in str(error)
    else:
        assert "MemoryError" in str(error)


def test_processor_time_is_limited(watch: Any) -> None:
    error = watch.run("while True:\n    pass").error
    assert error.code is ErrorCode.TIMEOUT
    assert "1 s of processor time" in str(error)


@pytest.mark.parametrize(
    "code",
    [
        "np.ones(10**10)",
        "x = []\nwhile True:\n    x.append(bytes(10**6))",
        "'x' * 10**10",
        "list(range(10**9))",
        "x = [1]\nwhile True:\n    x = x + x",
        "a = np.ones(10**6)\nkeep = [a + i for i in range(10**4)]",
        "class Big:\n    def __repr__(self):\n        return 'x' * 10**10\nraise MemoryError(Big())",
    ],
)
def test_memory_is_limited(watch: Any, code: str) -> None:
    error = watch.run(code).error
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert str(error) == "MemoryError: the limit is 128 MB."


def test_the_memory_limit_does_not_depend_on_the_variables(executor: CodeExecutor) -> None:
    image = np.zeros(60 << 20, np.uint8)
    assert executor.run("image.sum() + np.ones(10**7).sum()", "eval", {"image": image}).value == 1e7


def test_output_is_cut_with_a_note(watch: Any) -> None:
    outcome = watch.run("for _ in range(1000):\n    print('x' * 999)")
    assert outcome.stdout.endswith("... [cut: 8192 of 1000000 characters]")
    assert len(outcome.stdout) < 8300


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(x):\n    return f([x])\nf(0)", "line 2: RecursionError"),
        ("raise SystemExit(0)", "line 1: SystemExit: 0"),
        ("exit()", "line 1: NameError"),
        ("x = 1\nraise KeyboardInterrupt", "line 2: KeyboardInterrupt"),
        ("raise BaseException('no')", "line 1: BaseException: no"),
        ("class E(Exception):\n    def __str__(self):\n        raise self\nraise E", "line 4: E"),
        ("raise ValueError('x' * 10**6)", "line 1: ValueError: xxx"),
        ("input()", "line 1: "),
    ],
)
def test_an_exception_is_one_short_line(watch: Any, code: str, words: str) -> None:
    error = watch.run(code).error
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert words in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "code",
    [
        LIBC + "ct.string_at(0)",
        LIBC + "libc.abort()",
        LIBC + "ct.memset(id(None), 0, 64)\nNone",
        MODULES + "os.sys.setrecursionlimit(10**9)\n"
        "class A:\n    def __getattr__(self, name):\n        return getattr(self, name)\nA().x",
    ],
)
def test_a_crash_ends_only_the_program(watch: Any, code: str) -> None:
    error = watch.run(code).error
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert "crashed the interpreter: " in str(error)


# -- code that is none --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "x = 'a\0b'",
        "\ud800",
        "(" * 5000 + ")" * 5000,
        "[" * 150 + "]" * 150 + "[",
        "-" * 19_000 + "1",
        "x" + ".x" * 9_000 + "=",
        "lambda:" * 2_500 + "1",
        "1" + "+1" * 9_500,
        "x = " + "f(" * 6000,
        "if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 120)),
        "f'" + "{1:" * 3000,
        "def f(:\n    pass",
        "return 1",
        "  x = 1\n y = 2",
        "a, b = *c",
        "# coding: rot13\nvzcbeg bf",
    ],
)
def test_code_that_cannot_be_parsed_is_refused(watch: Any, code: str) -> None:
    error = watch.run(code).error
    assert error.code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.EXECUTION_FAILED)
    assert "line" in str(error) or "SyntaxError" in str(error) or "crashed" in str(error)


def test_a_million_characters_are_refused_at_once(executor: CodeExecutor) -> None:
    with pytest.raises(ToolError, match="1 to 20000 characters, got 1000000") as caught:
        executor.run("#" * 10**6)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
