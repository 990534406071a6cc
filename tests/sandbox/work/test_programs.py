"""Legitimate work runs in a box: compilers, interpreters, servers, databases, all that an agent uses."""

import os
import shutil
from pathlib import Path

import pytest

from sandbox.work.boxes import Space, each_user, need


def test_compile_and_run(space: Space) -> None:
    need("gcc")
    (space.root / "a.c").write_text('#include <stdio.h>\nint main(void){puts("built");return 0;}\n')
    assert space.sh("gcc -O1 -pipe -o a a.c && ./a && gcc -o b a.c && ./b") == "built\nbuilt\n"
    assert (space.root / "a").stat().st_mode & 0o111


def test_make_in_parallel(space: Space) -> None:
    need("make")
    names = " ".join(f"o{n}" for n in range(20))
    (space.root / "Makefile").write_text(f"all: {names}\n\tcat $^ > all\n{names}:\n\techo $@ > $@\n")
    space.sh("make -s -j4")
    assert len((space.root / "all").read_text().split()) == 20
    assert "up to date" in space.sh("touch all; make -j4 all o1 | tail -1")


BACKEND = """
import zipfile
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(f"{wheel_directory}/{name}", "w") as file:
        file.writestr("tiny.py", "VALUE = 42\\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(f"{info}/RECORD", "")
    return name
"""


@each_user
def test_a_virtual_environment_and_an_install_without_a_network(space: Space) -> None:
    if not space.run(space.python, "-c", "import ensurepip, venv").ok:
        pytest.skip(f"{space.python} can make no virtual environments")
    source = space.root / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (source / "backend.py").write_text(BACKEND)
    made = space.run(space.python, "-m", "venv", "env")
    assert made.ok, made
    pip = "env/bin/python -m pip install -q --no-index --no-build-isolation --disable-pip-version-check"
    out = space.run("sh", "-ec", f"{pip} ./source")
    assert out.ok, out
    assert space.sh("env/bin/python -c 'import tiny; print(tiny.VALUE)'") == "42\n"
    assert list(space.root.glob("env/lib/python3*/site-packages/tiny.py"))


@each_user
def test_pytest_with_workers(space: Space) -> None:
    """With the tools of this environment, which may lie below /tmp: a copy in the root stands for them."""
    tools = space.root / "tools"
    tools.mkdir()
    for name in ("_pytest", "pytest", "execnet", "iniconfig", "pluggy", "pygments", "packaging", "xdist"):
        found = pytest.importorskip(name).__file__
        shutil.copytree(Path(found).parent, tools / name)
    single = Path(pytest.__file__).parents[1] / "py.py"
    if single.exists():
        shutil.copy(single, tools)
    (space.root / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_n(n, tmp_path):\n"
        "    (tmp_path / 'x').write_text('y')\n    assert n >= 0\n"
    )
    code = f"import sys; sys.path[:0] = [{str(tools)!r}]; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tools), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    kept = space.wearing(env=("PYTHONPATH",))
    out = kept.run(space.python, "-c", code, "-q", "-p", "xdist.plugin", "-n", "2", "test_it.py", env=env)
    assert out.exit_code == 0, out
    assert b"8 passed" in out.stdout


@each_user
def test_node_with_workers_and_children(space: Space) -> None:
    need("node")
    (space.root / "a.js").write_text(
        """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const child = require('child_process');
if (process.argv[2] === 'child') { process.send('forked'); process.disconnect(); }
else if (!isMainThread) { parentPort.postMessage('worker'); }
else {
  console.log(child.execSync('echo shell').toString().trim());
  new Worker(__filename).on('message', (m) => { console.log(m);
    child.fork(__filename, ['child']).on('message', (m) => { console.log(m);
      child.spawn('cat', {stdio: ['pipe', 'inherit', 'inherit']}).stdin.end('piped'); }); });
}
"""
    )
    assert space.sh("node a.js").split() == ["shell", "worker", "forked", "piped"]


@each_user
def test_npm(space: Space) -> None:
    need("npm")
    (space.root / "dep").mkdir()
    (space.root / "dep" / "package.json").write_text('{"name": "dep", "version": "1.0.0", "main": "i.js"}')
    (space.root / "dep" / "i.js").write_text("module.exports = 7;")
    quiet = "--loglevel=error --no-audit --no-fund --no-update-notifier"
    space.sh(f"npm init -y {quiet} >/dev/null && npm install {quiet} --offline ./dep >/dev/null")
    assert space.sh("node -p 'require(\"dep\")'") == "7\n"


def test_go_builds_although_its_cache_is_in_the_home_folder(room: Space) -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    (room.root / "go.mod").write_text("module x\n\ngo 1.20\n")
    (room.root / "a.go").write_text('package main\n\nfunc main() { println("gone") }\n')
    out = room.run("go", "vet", "-n", ".")
    assert out.exit_code == 0, out


@each_user
@pytest.mark.parametrize("memory", [None, 2000])
def test_what_reserves_much_memory_and_uses_little(space: Space, memory: int | None) -> None:
    """What compiles while it runs reserves more than a machine has; only what it can write to counts."""
    from agent_exec.sandbox.profile import BoxLimits

    (space.root / "A.java").write_text(
        'class A { public static void main(String[] a) { System.out.println("java"); } }'
    )
    bounded = space.wearing(limits=BoxLimits(memory_mb=memory))
    programs = {
        "node": ["node", "-e", "new WebAssembly.Memory({initial: 1}); console.log('node')"],
        "java": ["java", "-Xmx64m", "A.java"],
        "python": [space.python, "-IS", "-c", "print('python')"],
        "go": ["go", "version"],
    }
    for name, argv in programs.items():
        if shutil.which(argv[0], path=None if space.user is None else "/usr/local/bin:/usr/bin:/bin"):
            out = bounded.run(*argv)
            assert out.exit_code == 0, out
            assert out.stdout_text.startswith(name)


@each_user
def test_a_sanitizer(space: Space) -> None:
    """It maps all memory that there could be; so no limit of that holds unless one is asked for."""
    need("gcc")
    (space.root / "a.c").write_text('#include <stdio.h>\nint main(void){puts("checked");return 0;}\n')
    if not space.run("gcc", "-fsanitize=address", "-o", "a", "a.c").ok:
        pytest.skip("gcc has no sanitizer here")
    assert space.sh("ASAN_OPTIONS=detect_leaks=0 ./a") == "checked\n"  # those it finds by tracing itself


@each_user
def test_a_thousand_files_at_once(space: Space) -> None:
    """Programs that open all they find, and raise their own limit for that."""
    code = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
print(len([os.open("/dev/null", os.O_RDONLY) for _ in range(1000)]))
"""
    assert space.py(code) == "1000\n"


SERVER = """
import http.server, threading, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"served " + self.path.encode())
    def log_message(self, *_): pass
for family, address in ((2, "127.0.0.1"), (10, "::1")):
    class S(http.server.ThreadingHTTPServer): address_family = family
    server = S((address, 0), H)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    name = "localhost" if family == 2 else "[::1]"
    print(urllib.request.urlopen(f"http://{name}:{server.server_address[1]}/x").read().decode())
    server.shutdown(); server.server_close()
"""


@each_user
def test_a_server_and_its_client(space: Space) -> None:
    assert space.py(SERVER) == "served /x\nserved /x\n"


def test_a_server_of_another_process(space: Space) -> None:
    line = (
        ": >log; "  # before anybody looks for it: the server may be slow to make it
        f"{space.python} -u -m http.server --bind 127.0.0.1 8000 >>log 2>&1 & "
        "until grep -q Serving log; do :; done; "
        "curl -sS http://127.0.0.1:8000/log >/dev/null; kill $!; wait; cat log"
    )
    need("curl")
    out = space.run("bash", "-c", line)
    assert b'"GET /log HTTP/1.1" 200' in out.stdout, out
    assert out.stderr == b""


POOL = """
import multiprocessing as mp, sys
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        context = mp.get_context(method)
        with context.Pool(4) as pool: print(pool.map(abs, range(-50, 0)) == list(range(50, 0, -1)))
    semaphore = mp.Semaphore(1); print(semaphore.acquire()); semaphore.release()
    queue = mp.Queue(); worker = mp.Process(target=queue.put, args=("queued",)); worker.start()
    print(queue.get()); worker.join()
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=1 << 20); memory.buf[0] = 1; memory.close(); memory.unlink()
    value = mp.Value("i", 3); array = mp.Array("d", 10); print(value.value)
    import concurrent.futures as futures
    with futures.ProcessPoolExecutor(2, mp_context=mp.get_context("spawn")) as pool: print(sum(pool.map(abs, range(9))))
"""


@each_user
def test_multiprocessing_pools_semaphores_and_shared_memory(space: Space) -> None:
    (space.root / "pool.py").write_text(POOL)
    assert space.sh(f"{space.python} pool.py").split() == ["True", "True", "True", "queued", "3", "36"]


def test_sqlite_with_a_write_ahead_log(space: Space) -> None:
    code = """
import sqlite3, threading
base = sqlite3.connect("a.db"); print(base.execute("pragma journal_mode=wal").fetchone()[0])
base.execute("create table t (n)"); base.commit()
def put():
    own = sqlite3.connect("a.db", timeout=30)
    for n in range(20):
        with own: own.execute("insert into t values (?)", (n,))
    own.close()
threads = [threading.Thread(target=put) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(base.execute("select count(*) from t").fetchone()[0]); base.close()
"""
    assert space.py(code) == "wal\n80\n"
    import sqlite3

    outside = sqlite3.connect(space.root / "a.db")
    assert outside.execute("select count(*) from t").fetchone() == (80,)
    outside.close()


@each_user
def test_temporary_files_of_every_kind(space: Space) -> None:
    line = """
a=$(mktemp); b=$(mktemp -d); echo x > "$a"; echo y > "$b/z"; cat "$a" "$b/z"
seq 50000 | sort -R | sort -n -S 64k | tail -1
cat <<END
here
END
echo "$TMPDIR"
"""
    assert space.sh(line).split() == ["x", "y", "50000", "here", "/tmp"]
    assert space.sh(line, shell="bash").split() == ["x", "y", "50000", "here", "/tmp"]
    assert space.sh("cat <(echo sub) ; cat <<< word", shell="bash").split() == ["sub", "word"]
    code = "import tempfile; f = tempfile.TemporaryFile(); f.write(b'x' * 5000000); f.seek(0); print(len(f.read()))"
    assert space.py(code) == "5000000\n"
    assert space.sh("wc -l <<END\n$(seq 30000)\nEND", shell="bash").strip() == "30000"


def test_the_private_tmp_is_full_when_it_is_full_and_empty_for_the_next_command(space: Space) -> None:
    small = space.wearing(tmp_mb=8)
    out = small.run("dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=20")
    assert out.exit_code == 1
    assert b"No space left on device" in out.stderr
    assert (
        small.sh("test ! -e /tmp/big; dd if=/dev/zero of=/tmp/x bs=1M count=6 status=none; stat -c %s /tmp/x")
        == "6291456\n"
    )


def test_everyday_programs(space: Space) -> None:
    assert space.sh("getent passwd root | cut -d: -f3") == "0\n"
    assert int(space.sh("date +%s")) > 1_700_000_000
    assert space.sh("TZ=Europe/Berlin date +%Z -d 2024-07-01") == "CEST\n"
    assert "LC_CTYPE" in space.sh("locale")
    assert "head" in space.sh("ls /usr/bin | head -400; cat /etc/os-release; ls /etc >/dev/null; echo head")
    assert space.sh("id -u; whoami; uname -s").split()[2] == "Linux"
    need("ps", "top")
    listed = space.sh("ps -eo pid,comm --no-headers")
    assert listed.split()[:2] == ["1", "agent-exec"]
    assert len(listed.splitlines()) < 8
    assert "PID" in space.sh("top -b -n1")
    assert space.sh("nproc; free >/dev/null; uptime >/dev/null; df . >/dev/null").strip().isdigit()


def test_tools_of_processes(space: Space) -> None:
    space.sh("nice -n 5 true; timeout 5 true; setsid -w true; flock lock true; nohup true 2>/dev/null")
    space.sh("taskset -c 0 true; ionice -c3 true; ulimit -n 100; ulimit -v 10000000; true")
    space.sh("mkfifo f; echo through > f & cat f | grep -q through; wait; rm f")
    assert space.sh("trap 'echo traps' EXIT; kill -0 $$; (exit 3) || echo $?") == "3\ntraps\n"


@each_user
@pytest.mark.parametrize(
    "argv", [["sudo", "-n", "true"], ["su", "-c", "true"], ["su", "nobody", "-s", "/bin/true"]]
)
def test_programs_that_would_change_the_user_fail_cleanly(space: Space, argv: list[str]) -> None:
    need(argv[0])
    out = space.run(*argv)
    assert (out.cause, out.signal) == (None, None), out
    root_becomes_root = argv == ["su", "-c", "true"] and os.geteuid() == 0 and space.user is None
    if not root_becomes_root:
        assert out.exit_code != 0
        assert out.stderr


def test_rights_inside(space: Space) -> None:
    status = space.sh("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status")
    fields = dict(line.split(":\t") for line in status.splitlines())
    assert (fields.pop("NoNewPrivs"), fields.pop("Seccomp")) == ("1", "2")
    assert set(fields.values()) == {"0" * 16}
    assert space.sh("ls /proc/self/fd | wc -l").strip() == "4"  # 0, 1, 2 and the folder itself


@each_user
@pytest.mark.parametrize("what", ["get_context('forkserver').Pool(1)", "Manager()"])
def test_a_server_on_a_unix_socket_learns_why_it_fails(space: Space, what: str) -> None:
    """A known limit: no AF_UNIX. From 3.14 on, `forkserver` is how Python starts processes by default."""
    (space.root / "fs.py").write_text(f"import multiprocessing as m\nif __name__ == '__main__': m.{what}\n")
    out = space.run(space.python, "fs.py")
    assert (out.exit_code, out.cause) == (1, None)
    assert b"Address family not supported" in out.stderr
